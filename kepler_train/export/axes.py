"""Figures of `kepler-train plot`, drawn with matplotlib: any format, and axes that fit their labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Says of a picture that it may be drawn again in its place.
DRAWN_BY = "kepler-train"
# Where each format names its program.
_PROGRAM = {".png": "Software", ".svg": "Creator", ".pdf": "Creator"}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure (inches), without pyplot, which would keep it alive."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["date.converter"] = "concise"
    return Figure(figsize=(width, height), dpi=110, layout="constrained")


def save_figure(figure: Figure, file: Path) -> None:
    """Write a figure in the format that the name of its file says."""
    figure.savefig(file, metadata={_PROGRAM[file.suffix]: DRAWN_BY})

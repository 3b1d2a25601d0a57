"""What all pictures share: the style sheet, panels, marks of workloads, numbers on axes, and how files are written."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kepler_train.arrays import Positions
from kepler_train.samples.schedule import IDLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN_BY = "kepler-train"
"""Marks a picture that may be drawn again in its place."""
MEASURED = "#888888"
"""The colour of measured power beside predictions."""
WIDTH = 9.2
"""The width of a picture (inches)."""
_SHEET = Path(__file__).with_name("house.mplstyle")
# Where each format names its program; the time of drawing, which SVG and PDF also have, is left out.
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": DRAWN_BY},
    ".svg": {"Creator": DRAWN_BY, "Date": None},
    ".pdf": {"Creator": DRAWN_BY, "CreationDate": None},
}
_COLOURS, _MARKERS = 7, "os|_"  # of the style sheet; together enough for 28 workloads, then they come again
_NAME = 48  # letters of a workload's name


class Mark(NamedTuple):
    """The colour and the marker of a workload."""

    colour: str
    marker: str


@cache
def _apply_style() -> None:
    """Make matplotlib draw by the style sheet alone, whatever the user's own settings are."""
    # Where no folder is writable, matplotlib tells of its temporary one at every start.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as mpl

    mpl.rc_file(_SHEET)


def new_figure(width: float, height: float, fitted: bool = True) -> Figure:
    """Return an empty figure (inches), with panels `fitted` to their labels; without pyplot, which would keep it."""
    _apply_style()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained" if fitted else None)


def new_panels(count: int, columns: int, height: float, sharex: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels of some height (inches), `columns` of them in a line."""
    columns = min(columns, count)
    lines = -(-count // columns)
    figure = new_figure(WIDTH, height * lines)
    axes = list(figure.subplots(lines, columns, squeeze=False, sharex=sharex).flat)
    for axis in axes[count:]:
        axis.remove()
    return figure, axes[:count]


def save_figure(figure: Figure, file: Path) -> None:
    """Write a figure in the format that the name of its file says."""
    with warnings.catch_warnings():
        # A workload may have a name in letters that no font on this machine has; they are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        if layout := figure.get_layout_engine():
            layout.execute(figure)
            figure.set_layout_engine("none")  # else it draws twice
        figure.savefig(file, metadata=_METADATA[file.suffix])


def legend_below(figure: Figure, axis: Axes, columns: int = 4) -> None:
    """Write the legend of a panel, which is that of all, below the panels."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def start_at_zero(axis: Axes) -> None:
    """Let both axes begin at 0, or below where numbers do."""
    axis.set_xlim(left=min(0, axis.dataLim.x0))
    axis.set_ylim(bottom=min(0, axis.dataLim.y0))


def workload_marks(names: Iterable[str]) -> dict[str, Mark]:
    """Return a mark for every workload in the order of names; that of idle time is grey."""
    marks = {IDLE: Mark(MEASURED, "o")}
    for position, name in enumerate(sorted(set(names) - {IDLE})):
        turn, place = divmod(position, _COLOURS)
        marks[name] = Mark(f"C{place}", _MARKERS[turn % len(_MARKERS)])
    return marks


def thinned(rows: Positions, points: int) -> Positions:
    """Return at most `points` rows, evenly spread: more of them hide what they show."""
    return rows[:: max(1, -(-len(rows) // points))]


def shorten(name: str, letters: int = _NAME) -> str:
    """Return a name on one line and of a length that fits; a workload may have any."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    return line if len(line) <= letters else f"{line[: letters - 1]}…"


def number(value: float, _position: float = 0) -> str:
    """Return a number for a tick in few letters: thousands as k, millions as M and so on."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {letter}"
    return f"{value:.4g}"

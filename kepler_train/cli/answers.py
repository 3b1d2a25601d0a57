"""Answers of commands that look something up: tables for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kepler_train.errors import readable

if TYPE_CHECKING:
    from kepler_train.publish.version_record import ErrorFigure

_BETWEEN = "  "
_UNITS = ("B", "kB", "MB", "GB", "TB")


def print_json(answer: Any) -> None:
    """Print an answer as one JSON document."""
    print(json.dumps(answer, indent=1, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their columns; on a terminal, lines end where it does."""
    if not rows:
        return
    cells = [[readable(cell) for cell in row] for row in ([columns, *rows] if any(columns) else rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in cells:
        line = _BETWEEN.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        print(line if most is None or len(line) <= most else f"{line[: most - 1]}…")


def short_errors(errors: Mapping[str, ErrorFigure]) -> str:
    """Return the errors of the best models in a few words."""
    return "; ".join(
        f"{family} {figure.mae:.2f} W" + (f" ({figure.mape:.1f} %)" if figure.mape is not None else "")
        for family, figure in errors.items()
    )


def time_of(moment: datetime | None) -> str:
    """Return a time to the minute (UTC); a dash for none."""
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "–"


def window_of(window: tuple[datetime, datetime] | None) -> str:
    """Return a window to the minute (UTC)."""
    return f"{time_of(window[0])} – {time_of(window[1])}" if window else "–"


def size_of(size: float) -> str:
    """Return a number of bytes as people read it.

    >>> size_of(1_250_000)
    '1.2 MB'
    """
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"

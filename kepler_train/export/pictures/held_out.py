"""Predicted against measured power of held-out rows, coloured by workload: on every card, and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kepler_train.arrays import Floats, Positions
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.pictures.style import Mark, new_figure, number, save_figure, shorten, thinned, workload_marks
from kepler_train.extract.row_times import BLOCK
from kepler_train.model_key import ModelKey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    _Panel = tuple[Axes, dict[str, Line2D]]

_POINTS = 300  # of a panel
_TITLE = 42  # letters above a panel
_SIDE = 2.7  # of a panel (inches)
_LEFT, _RIGHT, _ABOVE, _BELOW = 0.7, 0.2, 0.45, 0.5  # room around a panel (inches)
_HEADING, _LEGEND_LINE, _LETTER, _MARK = 0.3, 0.2, 0.073, 0.3  # inches
# The stroke that shows a row, by marker: half its length (shares of the panel), its width (points), its ends.
_STROKES = {
    "o": ((5e-4, 0), 3.4, "round"),
    "s": ((5e-4, 0), 3.0, "projecting"),
    "|": ((0, 0.013), 1.4, "butt"),
    "_": ((0.013, 0), 1.4, "butt"),
}


def draw_held_out(held_out: Mapping[ModelKey, HeldOut], file: Path) -> None:
    """Draw a panel per model and component; points on the diagonal are right. Without models there is no picture.

    Rows are those of loads that were left out whole, or of blocks of time where no load was.
    """
    protocol, what = farthest(held_out)
    pieces = [
        (key, piece.component, thinned(piece.rows, _POINTS))
        for key, rows in sorted(held_out.items())
        for piece in rows.pieces
        if piece.protocol == protocol
    ]
    if not pieces:
        return
    workloads = {name for key, _, rows in pieces for name in _by_workload(held_out[key], rows)}
    figure, panels = _frame(len(pieces), tuple(sorted(workloads)), f"workload ({what} held out)")
    marks, single = workload_marks(workloads), len(held_out) == 1
    title = _title(pieces[0][0]).replace("\n", ": ") if single else "Best model of each energy source and output type"
    figure.suptitle(title, y=1 - 0.1 / figure.get_figheight())
    for (axis, lines), (key, component, rows) in zip(panels, pieces, strict=True):
        measured, predicted = held_out[key].columns["measured"], held_out[key].columns["predicted"]
        top = 1.05 * float(max(measured[rows].max(), predicted[rows].max())) or 1.0
        axis.set(xlim=(0, top), ylim=(0, top), xlabel=f"measured {component} power (W)")
        axis.set_title(component if single else _title(key))
        of_workload = _by_workload(held_out[key], rows)
        for name, line in lines.items():
            shown = of_workload.get(name, rows[:0])
            across, up = _STROKES[marks[name].marker][0]
            line.set_data(_ends(measured[shown], across * top), _ends(predicted[shown], up * top))
            line.get_path().should_simplify = False  # which takes a short stroke for none
    save_figure(figure, file)


def farthest(held_out: Mapping[ModelKey, HeldOut]) -> tuple[Protocol, str]:
    """Return the protocol that says most and has rows of every model, and what was held out by it."""
    unseen = all(any(piece.protocol == Protocol.WORKLOAD for piece in rows.pieces) for rows in held_out.values())
    workloads = {name for rows in held_out.values() for name in rows.workload.names}
    if unseen and not all(name.startswith(BLOCK) for name in workloads):
        return Protocol.WORKLOAD, "whole loads"
    return Protocol.BLOCKED, "blocks of time"


def _title(key: ModelKey) -> str:
    """Return what a model is of, and its trainer, on two lines."""
    return f"{shorten(f'{key.output_type} of {key.source}, {key.group}', _TITLE)}\n{shorten(key.trainer, _TITLE)}"


def _by_workload(held_out: HeldOut, rows: Positions) -> dict[str, Positions]:
    """Return the rows under each workload."""
    codes = held_out.workload.codes[rows]
    return {held_out.workload.names[code]: rows[codes == code] for code in np.unique(codes)}


def _ends(watts: Floats, half: float) -> Floats:
    """Return where the stroke of each row starts and ends, with a gap before the next."""
    return np.column_stack([watts - half, watts + half, np.full(len(watts), np.nan)]).ravel()


@lru_cache(maxsize=1)
def _frame(count: int, workloads: tuple[str, ...], title: str) -> tuple[Figure, list[_Panel]]:
    """Return a figure for the models of a run, with panels that have no rows yet; to use it again halves the time.

    Places are fixed, not fitted to what is drawn, so that a picture is the same whatever was drawn before.
    """
    columns = count if count < 3 else 2 if count == 4 else 3
    wide, high = _LEFT + _SIDE + _RIGHT, _ABOVE + _SIDE + _BELOW
    width = max(columns, 1.5) * wide
    names, marks = [shorten(name) for name in workloads], workload_marks(workloads)
    entry = _MARK + _LETTER * max(map(len, names))
    in_line = min(len(names), max(1, int(width / entry)))
    legend = _LEGEND_LINE * (-(-len(names) // in_line) + 1.5)
    height = _HEADING + -(-count // columns) * high + legend
    figure, panels = new_figure(width, height, fitted=False), []
    for position in range(count):
        line, column = divmod(position, columns)
        left = (width - columns * wide) / 2 + column * wide + _LEFT
        bottom = height - _HEADING - line * high - _ABOVE - _SIDE
        axis = figure.add_axes((left / width, bottom / height, _SIDE / width, _SIDE / height))
        panels.append((axis, _add_lines(axis, {name: marks[name] for name in workloads})))
    figure.text(0.5, (legend - 0.1) / height, title, ha="center", va="center", color="#666666")
    for position, (name, workload) in enumerate(zip(names, workloads, strict=True)):
        line, column = divmod(position, in_line)
        left = (width - in_line * entry) / 2 + column * entry
        _add_name(figure, left, legend - (line + 1.5) * _LEGEND_LINE, name, marks[workload])
    return figure, panels


def _add_name(figure: Figure, left: float, up: float, name: str, mark: Mark) -> None:
    """Add a name with its mark to the legend (inches); matplotlib's own is measured anew in every picture."""
    from matplotlib.lines import Line2D

    inches = figure.dpi_scale_trans
    figure.add_artist(Line2D([left + 0.6 * _MARK], [up], marker=mark.marker, color=mark.colour, transform=inches))
    figure.text(left + _MARK, up, name, va="center_baseline", fontsize=8.5, transform=inches)


def _add_lines(axis: Axes, marks: Mapping[str, Mark]) -> dict[str, Line2D]:
    """Draw the diagonal of a panel, fix its labels, and return a line without rows for each workload.

    Rows are strokes of a line: markers take several times the time, and in an SVG twice the space.
    """
    from matplotlib.ticker import MaxNLocator

    axis.set_ylabel("predicted (W)")
    for side, place in ((axis.xaxis, (0.5, -0.11)), (axis.yaxis, (-0.15, 0.5))):
        side.set_label_coords(*place)
        side.set_major_locator(MaxNLocator(4))
        side.set_major_formatter(number)
    lines = {}
    for name, mark in marks.items():
        _, width, ends = _STROKES[mark.marker]
        (lines[name],) = axis.plot([], color=mark.colour, alpha=0.6, linewidth=width, solid_capstyle=ends, snap=False)
    axis.plot([0, 1], [0, 1], transform=axis.transAxes, color="#666666", linewidth=0.8)
    return lines

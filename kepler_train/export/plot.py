"""Predicted against measured power of held-out rows, coloured by workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kepler_train.arrays import Positions
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.canvas import Canvas
from kepler_train.export.panels import Grid, Legend, Panel, colours_of, thinned
from kepler_train.extract.row_times import BLOCK
from kepler_train.model_key import ModelKey

_POINTS = 1000  # of a panel
_DIAGONAL = "#666666"


def farthest(held_out: Mapping[ModelKey, HeldOut]) -> tuple[Protocol, str]:
    """The protocol that says most and has rows of every model, and what was held out by it."""
    unseen = all(any(piece.protocol == Protocol.WORKLOAD for piece in rows.pieces) for rows in held_out.values())
    workloads = {name for rows in held_out.values() for name in rows.workload.names}
    if unseen and not all(name.startswith(BLOCK) for name in workloads):
        return Protocol.WORKLOAD, "whole loads"
    return Protocol.BLOCKED, "blocks of time"


def plot_held_out(held_out: Mapping[ModelKey, HeldOut], file: Path) -> None:
    """A panel per model and component; points on the diagonal are right. Of no model there is no picture.

    Rows are those of loads that were left out whole, or of blocks of time where no load was.
    """
    protocol, words = farthest(held_out)
    panels = [
        (part, piece.component, thinned(piece.rows, _POINTS))
        for part, rows in sorted(held_out.items())
        for piece in rows.pieces
        if piece.protocol == protocol
    ]
    if not panels:
        return
    grid = Grid(len(panels), width=310, height=290, columns=4)
    width, height = grid.size
    shown = {name for part, _, rows in panels for name in _names(held_out[part], rows)}
    colours = colours_of(sorted(shown))
    legend = Legend(colours, width, f"workload ({words} held out)")
    canvas = Canvas(width, height + legend.height)
    for number, (part, component, rows) in enumerate(panels):
        own = held_out[part]
        measured, predicted, workloads = own.columns["measured"], own.columns["predicted"], own.workload.take(rows)
        top = 1.05 * float(max(measured[rows].max(), predicted[rows].max())) or 1.0
        panel = Panel(canvas, *grid.place(number), grid.width, grid.height, (0, top), (0, top))
        for name in _names(own, rows):
            under = rows[workloads.equal(name)]
            canvas.dots(panel.places(measured[under], predicted[under]), colours[name])
        canvas.line([(panel.left, panel.top + panel.height), (panel.left + panel.width, panel.top)], _DIAGONAL)
        title = f"{part.output_type} of {part.source}, {part.group}\n{part.trainer}"
        panel.frame(title, f"measured {component} power (W)", "predicted (W)")
    legend.draw(canvas, height)
    canvas.save(file)


def _names(held_out: HeldOut, rows: Positions) -> list[str]:
    """The workloads of some rows."""
    return [held_out.workload.names[code] for code in np.unique(held_out.workload.codes[rows])]

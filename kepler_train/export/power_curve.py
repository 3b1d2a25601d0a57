"""Power against the load: what was measured, and what models say of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kepler_train.arrays import Positions
from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.canvas import Canvas
from kepler_train.export.panels import Grid, Legend, Numbers, Panel, colours_of, heading, limits, thinned
from kepler_train.export.plot import farthest
from kepler_train.model_key import ModelKey
from kepler_train.train.held_out import LOAD

_GREY = "#888888"
_POINTS = 800  # of a panel
_PARTS, _ROWS = 25, 3  # of a curve, and rows of each part at least
_HEADING = 20  # pixels


def plot_power_curves(held_out: Mapping[ModelKey, HeldOut], main: Mapping[str, str], file: Path) -> None:
    """A panel per component: measured rows of the first model as dots, and a line for what each model says.

    `main` names the feature that stands for a component's load; it is the same for all models.
    """
    protocol, words = farthest(held_out)
    names = [f"{key.trainer} on {key.group}" for key in held_out]
    models = dict(zip(names, held_out.values(), strict=True))
    rows = {
        (name, piece.component): piece.rows
        for name, own in models.items()
        for piece in own.pieces
        if piece.protocol == protocol
    }
    first = models[names[0]]
    components = [component for name, component in rows if name == names[0]]
    grid = Grid(len(components), width=420 if len(components) > 1 else 680, height=270, columns=2, top=_HEADING)
    width, height = grid.size
    colours = colours_of(names)
    legend = Legend({"measured": _GREY}, width, lines=colours)
    canvas = Canvas(width, height + legend.height)
    best = next(iter(held_out))
    title = f"{best.output_type} of {best.source} against the load: measured, and median predicted ({words} held out)"
    heading(canvas, title)
    for number, component in enumerate(components):
        lines = {name: medians(*_columns(own, rows[name, component], "predicted")) for name, own in models.items()}
        load, measured = _columns(first, thinned(rows[names[0], component], _POINTS), "measured")
        up = limits(measured, *(watts for _, watts in lines.values()))
        panel = Panel(canvas, *grid.place(number), grid.width, grid.height, limits(load), up)
        canvas.dots(panel.places(load, measured), _GREY, alpha=0.5)
        for name in reversed(names):  # the best above the others
            canvas.line(panel.places(*lines[name]), colours[name], width=2)
        panel.frame(component, f"{main[component]} (1/s)", f"{component} power (W)")
    legend.draw(canvas, height)
    canvas.save(file)


def _columns(held_out: HeldOut, rows: Positions, power: str) -> tuple[Numbers, Numbers]:
    """Load and power (W) of some rows."""
    return held_out.columns[LOAD][rows], held_out.columns[power][rows]


def medians(load: Numbers, power: Numbers) -> tuple[Numbers, Numbers]:
    """Median load and median power (W) of parts of the load's range of the same width; of few rows there is none."""
    part = np.minimum((_PARTS * (load - load.min()) / (np.ptp(load) or 1)).astype(int), _PARTS - 1)
    rows = [np.flatnonzero(part == number) for number in range(_PARTS)]
    enough = [own for own in rows if len(own) >= _ROWS]
    return np.array([np.median(load[own]) for own in enough]), np.array([np.median(power[own]) for own in enough])

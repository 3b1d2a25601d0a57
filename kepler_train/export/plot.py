"""Predicted against measured power of held-out rows, coloured by workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.export.canvas import Canvas
from kepler_train.export.panels import Grid, Legend, Panel, colours_of, numbers, thinned
from kepler_train.train.protocols import BLOCK, Protocol

_POINTS = 1000  # of a panel


def farthest(held_out: Mapping[str, pd.DataFrame]) -> tuple[Protocol, str]:
    """The protocol that says most and has rows of every model, and what was held out by it."""
    unseen = all((rows["protocol"] == Protocol.WORKLOAD).any() for rows in held_out.values())
    workloads = {str(name) for rows in held_out.values() for name in rows["workload"].unique()}
    if unseen and not all(name.startswith(BLOCK) for name in workloads):
        return Protocol.WORKLOAD, "whole loads"
    return Protocol.BLOCKED, "blocks of time"


def plot_held_out(held_out: Mapping[str, pd.DataFrame], file: Path) -> None:
    """A panel per model and component; points on the diagonal are right. Of no model there is no picture.

    Rows are those of loads that were left out whole, or of blocks of time where no load was.
    """
    protocol, words = farthest(held_out)
    panels = [
        (part, str(component), thinned(points, _POINTS))
        for part, rows in sorted(held_out.items())
        for component, points in rows[rows["protocol"] == protocol].groupby("component", sort=False, observed=True)
    ]
    if not panels:
        return
    grid = Grid(len(panels), width=310, height=290, columns=4)
    width, height = grid.size
    colours = colours_of(sorted({str(name) for _, _, points in panels for name in points["workload"].unique()}))
    legend = Legend(colours, width, f"workload ({words} held out)")
    canvas = Canvas(width, height + legend.height)
    for number, (part, component, points) in enumerate(panels):
        top = 1.05 * float(points[["measured", "predicted"]].to_numpy().max()) or 1.0
        panel = Panel(canvas, *grid.place(number), grid.width, grid.height, (0, top), (0, top))
        for workload, own in points.groupby("workload", sort=True, observed=True):
            canvas.dots(panel.places(numbers(own["measured"]), numbers(own["predicted"])), colours[str(workload)])
        diagonal = np.array([0, top])
        canvas.line(panel.places(diagonal, diagonal), "#666666")
        source, output_type, group, trainer = part.split("/")
        title = f"{output_type} of {source}, {group}\n{trainer}"
        panel.frame(title, f"measured {component} power (W)", "predicted (W)")
    legend.draw(canvas, height)
    canvas.save(file)

"""Power against the load: what was measured, and what models predict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kepler_train.arrays import Floats, Positions
from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.pictures.held_out import farthest
from kepler_train.export.pictures.style import (
    MEASURED,
    legend_below,
    new_panels,
    number,
    save_figure,
    start_at_zero,
    thinned,
)
from kepler_train.model_key import ModelKey
from kepler_train.train.held_out import LOAD

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 800  # of a panel
_HEIGHT = 3.6  # of a panel (inches)
_PARTS, _ROWS = 25, 3  # of a curve, and rows of each part at least


def draw_power_curves(held_out: Mapping[ModelKey, HeldOut], main: Mapping[str, str], file: Path) -> None:
    """Draw a panel per component: measured rows of the first model as dots, and a line for what each model predicts.

    `main` names the feature that stands for a component's load; it is the same for all models.
    """
    protocol, what = farthest(held_out)
    rows = {
        (key, piece.component): piece.rows
        for key, judged in held_out.items()
        for piece in judged.pieces
        if piece.protocol == protocol
    }
    first = next(iter(held_out))
    components = [component for key, component in rows if key == first]
    figure, panels = new_panels(len(components), 2, _HEIGHT)
    for axis, component in zip(panels, components, strict=True):
        _dots(axis, *_columns(held_out[first], thinned(rows[first, component], _POINTS), "measured"), "measured")
        for rank, (key, judged) in enumerate(held_out.items()):
            line = medians(*_columns(judged, rows[key, component], "predicted"))
            name = f"{key.trainer} on {key.group}"
            axis.plot(*line, color=f"C{rank}", linewidth=2, label=name, zorder=3 - 0.1 * rank)  # the best is on top
        _finish(axis, component, main[component])
    legend_below(figure, panels[0], columns=2)
    figure.suptitle(
        f"{first.output_type} of {first.source} against the load: measured, and median predicted ({what} held out)"
    )
    save_figure(figure, file)


def draw_power_curve(estimates: pd.DataFrame, loads: Mapping[str, pd.Series[float]], title: str, file: Path) -> None:
    """Draw rows of any data: what was measured, where it was, what one model predicts, and the median of that."""
    figure, panels = new_panels(estimates["component"].nunique(), 2, _HEIGHT)
    for axis, (component, rows) in zip(panels, estimates.groupby("component", sort=False), strict=True):
        load = loads[str(component)]
        shown = thinned(np.arange(len(rows)), _POINTS)
        x, measured, predicted = (
            np.asarray(column, dtype=float) for column in (load, rows["measured"], rows["predicted"])
        )
        if rows["measured"].notna().any():
            _dots(axis, x[shown], measured[shown], "measured")
        _dots(axis, x[shown], predicted[shown], "estimated", "C0")
        axis.plot(*medians(x, predicted), color="C0", linewidth=2, label="estimated, median", zorder=3)
        _finish(axis, str(component), str(load.name))
    legend_below(figure, panels[0])
    figure.suptitle(title)
    save_figure(figure, file)


def medians(load: Floats, power: Floats) -> tuple[Floats, Floats]:
    """Return median load and median power (W) of equal parts of the load's range; parts with few rows are left out."""
    part = np.minimum((_PARTS * (load - load.min()) / (np.ptp(load) or 1)).astype(int), _PARTS - 1)
    parts = [np.flatnonzero(part == position) for position in range(_PARTS)]
    enough = [rows for rows in parts if len(rows) >= _ROWS]
    return np.array([np.median(load[rows]) for rows in enough]), np.array([np.median(power[rows]) for rows in enough])


def _columns(held_out: HeldOut, rows: Positions, power: str) -> tuple[Floats, Floats]:
    """Return load (1/s) and power (W) of some rows."""
    return held_out.columns[LOAD][rows], held_out.columns[power][rows]


def _dots(axis: Axes, load: Floats, power: Floats, label: str, colour: str = MEASURED) -> None:
    axis.plot(
        load, power, linestyle="", marker="o", markersize=3, markeredgewidth=0, alpha=0.5, color=colour, label=label
    )


def _finish(axis: Axes, component: str, feature: str) -> None:
    """Name the axes of a panel with their units."""
    axis.set(xlabel=f"{feature} (1/s)", ylabel=f"{component} power (W)")
    axis.xaxis.set_major_formatter(number)
    axis.yaxis.set_major_formatter(number)
    start_at_zero(axis)

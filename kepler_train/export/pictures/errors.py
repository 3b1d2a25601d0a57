"""The errors of the models of a pipeline as bars, by protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.export.pictures.style import legend_below, new_panels, save_figure

_BAR = 0.13  # height of a bar (inches)


def draw_errors(errors: pd.DataFrame, file: Path) -> None:
    """Draw mean absolute errors (W), a panel per component: rows of `model`, `component`, `protocol` and `mae`."""
    bars = errors.groupby("component")["model"].nunique().max() * (errors["protocol"].nunique() + 1)
    figure, panels = new_panels(errors["component"].nunique(), 1, 0.8 + _BAR * bars)
    for axis, (component, rows) in zip(panels, errors.groupby("component", sort=False), strict=True):
        table = rows.pivot_table(index="model", columns="protocol", values="mae", sort=False)
        table = table.loc[table.max(axis=1).sort_values(ascending=False).index]
        place, height = np.arange(len(table)), 0.8 / len(table.columns)
        for position, protocol in enumerate(table.columns):
            axis.barh(place - position * height, table[protocol], height, label=str(protocol))
        axis.set_yticks(place - 0.4 + height / 2, table.index)
        axis.grid(False, axis="y")
        axis.set(xlabel=f"{component}: mean absolute error (W)", xlim=(0, None), ylim=(-0.9, len(table) - 0.7))
    legend_below(figure, panels[0])
    figure.suptitle("Error on rows that the model had not seen")
    save_figure(figure, file)

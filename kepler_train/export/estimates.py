"""Pictures of what a model says about rows: over time, against the load, and what it is off by in each workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kepler_train.export.axes import new_figure, save_figure
from kepler_train.export.power_curve import medians

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 5000  # more than this per panel hides what it shows
_BAR = 0.22  # height of the bars of a model (inches)


def plot_estimate(found: pd.DataFrame, title: str, file: Path) -> None:
    """Estimated power over time with its interval, and the measured power where there is one; a panel per component."""
    figure, panels = _panels(found, wide=True)
    for axis, (component, rows) in zip(panels, found.groupby("component", sort=False), strict=True):
        for node, own in rows.sort_values("time").groupby("node", sort=True):
            name = f"{node}, " if rows["node"].nunique() > 1 else ""
            (line,) = axis.plot(own["time"], own["predicted"], linewidth=1, label=f"{name}estimated")
            axis.fill_between(own["time"], own["low"], own["high"], color=line.get_color(), alpha=0.2, linewidth=0)
            if own["measured"].notna().any():
                axis.plot(own["time"], own["measured"], linewidth=1, color="0.25", label=f"{name}measured")
        axis.set(ylabel=f"{component} (W)", ylim=(0, None))
        axis.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)
    panels[-1].set_xlabel("UTC")
    _save(figure, title, file)


def plot_power_curve(found: pd.DataFrame, loads: Mapping[str, pd.Series[float]], title: str, file: Path) -> None:
    """Power against the feature that stands for its load: what was measured, what the model says, and its median."""
    from matplotlib.ticker import EngFormatter

    figure, panels = _panels(found)
    for axis, (component, rows) in zip(panels, found.groupby("component", sort=False), strict=True):
        every, load = max(1, len(rows) // _POINTS), loads[str(component)]
        x, own = load.to_numpy()[::every], rows.iloc[::every]
        if own["measured"].notna().any():
            axis.scatter(x, own["measured"], s=8, color="0.6", linewidths=0, alpha=0.6, label="measured")
        axis.scatter(x, own["predicted"], s=8, color="tab:blue", linewidths=0, alpha=0.4, label="estimated")
        axis.plot(*medians(load.to_numpy(), rows["predicted"].to_numpy()), color="tab:blue", label="estimated, median")
        axis.set(xlabel=f"{load.name} (1/s)", ylabel=f"{component} (W)", xlim=(0, None), ylim=(0, None))
        axis.xaxis.set_major_formatter(EngFormatter(sep=" "))
    _legend_below(figure, panels)
    _save(figure, title, file)


def plot_residuals(found: pd.DataFrame, title: str, file: Path) -> None:
    """Estimated less measured power in each workload: the middle half as a box, 5 % to 95 % as whiskers."""
    figure, panels = _panels(found)
    for axis, (component, rows) in zip(panels, found.groupby("component", sort=False), strict=True):
        off = rows["predicted"] - rows["measured"]
        names = sorted(rows["workload"].unique(), reverse=True)
        boxes = [off[rows["workload"] == name].to_numpy() for name in names]
        axis.boxplot(boxes, orientation="horizontal", whis=(5, 95), showfliers=False, tick_labels=names)
        axis.axvline(0, color="0.6", linewidth=0.8)
        axis.set(xlabel=f"{component}: estimated − measured (W)")
    _save(figure, title, file)


def plot_errors(models: pd.DataFrame, file: Path) -> None:
    """Mean absolute error (W) of the models of a pipeline: rows of `model`, `component`, `protocol` and `mae`."""
    most = models.groupby("component")["model"].nunique().max()
    figure, panels = _panels(models, height=1.5 + _BAR * most)
    for axis, (component, rows) in zip(panels, models.groupby("component", sort=False), strict=True):
        table = rows.pivot_table(index="model", columns="protocol", values="mae", sort=False)
        table = table.loc[table.max(axis=1).sort_values(ascending=False).index]
        place, height = np.arange(len(table)), 0.8 / len(table.columns)
        for number, protocol in enumerate(table.columns):
            axis.barh(place - number * height, table[protocol], height, label=str(protocol))
        axis.set_yticks(place - 0.4 + height / 2, table.index, fontsize=7)
        axis.set(xlabel=f"{component}: mean absolute error (W)", xlim=(0, None), ylim=(-0.9, len(table) - 0.7))
    _legend_below(figure, panels)
    _save(figure, "Error on rows that the model had not seen", file)


def _panels(rows: pd.DataFrame, wide: bool = False, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    """A panel per component: below each other over time, else two in a line of some height (inches)."""
    count = rows["component"].nunique()
    columns = 1 if wide else min(count, 2)
    lines = -(-count // columns)
    figure = new_figure(*((12.0, 2.8 * lines) if wide else (6.0 * columns, height * lines)))
    axes = figure.subplots(lines, columns, squeeze=False, sharex=wide)
    for axis in list(axes.flat)[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat)[:count]


def _legend_below(figure: Figure, panels: list[Axes]) -> None:
    """One legend of all panels, where it covers none."""
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)


def _save(figure: Figure, title: str, file: Path) -> None:
    figure.suptitle(title, fontsize=11)
    save_figure(figure, file)

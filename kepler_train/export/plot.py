"""The one plot: predicted against measured power of held-out blocks, coloured by workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from kepler_train.train.protocols import Protocol

_POINTS = 1500  # more than this per panel hides what it shows


def plot_held_out(held_out: Mapping[str, pd.DataFrame], file: Path) -> None:
    """One panel per model, of its first component; points on the diagonal are right."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    columns = min(len(held_out), 2)
    lines = -(-len(held_out) // columns)
    size = (5.2 * columns, 4.4 * lines)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    workloads = sorted({name for rows in held_out.values() for name in rows["workload"].unique()})
    colours = {name: plt.get_cmap("tab20")(number % 20) for number, name in enumerate(workloads)}
    for axis, (part, rows) in zip(axes.flat, sorted(held_out.items()), strict=False):
        component = rows["component"].iloc[0]
        own = rows[(rows["protocol"] == Protocol.BLOCKED) & (rows["component"] == component)]
        own = own.iloc[:: max(1, len(own) // _POINTS)]
        for workload, points in own.groupby("workload"):
            axis.scatter(points["measured"], points["predicted"], s=8, color=colours[workload], alpha=0.6, linewidths=0)
        top = float(max(own["measured"].max(), own["predicted"].max())) * 1.05 or 1.0
        axis.plot([0, top], [0, top], color="0.4", linewidth=0.8)
        axis.set(xlim=(0, top), ylim=(0, top), xlabel=f"measured {component} power (W)", ylabel="predicted (W)")
        source, output_type, group, trainer = part.split("/")
        axis.set_title(f"{output_type}: {trainer}\n{source}, {group}", fontsize=10)
    for axis in list(axes.flat)[len(held_out) :]:
        axis.set_visible(False)
    handles = [Line2D([], [], marker="o", linestyle="", color=colour, label=name) for name, colour in colours.items()]
    title = "workload (rows held out in blocks of time)"
    figure.legend(handles=handles, loc="outside lower center", ncols=6, fontsize=8, title=title, title_fontsize=8)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)

"""Predicted against measured power of held-out rows, coloured by workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from kepler_train.train.protocols import Protocol

_POINTS = 1500  # more than this per panel hides what it shows
_ACROSS = 4  # panels in a line
_NAMES = {Protocol.WORKLOAD: "loads that were left out whole", Protocol.BLOCKED: "blocks of time"}


def plot_held_out(held_out: Mapping[str, pd.DataFrame], file: Path) -> None:
    """A panel per model and component; points on the diagonal are right.

    Rows are those of loads that were left out whole, or of blocks of time where no load was.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    unseen = all((rows["protocol"] == Protocol.WORKLOAD).any() for rows in held_out.values())
    protocol = Protocol.WORKLOAD if unseen else Protocol.BLOCKED
    panels = [
        (part, str(component), points)
        for part, rows in sorted(held_out.items())
        for component, points in rows[rows["protocol"] == protocol].groupby("component", sort=False, observed=True)
    ]
    columns = min(len(panels), _ACROSS)
    lines = -(-len(panels) // columns)
    size = (4.0 * columns, 3.8 * lines + 0.8)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    workloads = sorted({name for _, _, points in panels for name in points["workload"].unique()})
    colours = {name: plt.get_cmap("tab20")(number % 20) for number, name in enumerate(workloads)}
    for axis, (part, component, points) in zip(axes.flat, panels, strict=False):
        own = points.iloc[:: max(1, len(points) // _POINTS)]
        shades = [colours[workload] for workload in own["workload"]]
        axis.scatter(own["measured"], own["predicted"], s=8, c=shades, alpha=0.6, linewidths=0)
        top = float(max(own["measured"].max(), own["predicted"].max())) * 1.05 or 1.0
        axis.plot([0, top], [0, top], color="0.4", linewidth=0.8)
        axis.set(xlim=(0, top), ylim=(0, top), xlabel=f"measured {component} power (W)", ylabel="predicted (W)")
        source, output_type, group, trainer = part.split("/")
        axis.set_title(f"{output_type} of {source}, {group}\n{trainer}", fontsize=9)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    handles = [Line2D([], [], marker="o", linestyle="", color=colour, label=name) for name, colour in colours.items()]
    title = f"workload (rows of {_NAMES[protocol]})"
    figure.legend(handles=handles, loc="outside lower center", ncols=8, fontsize=8, title=title, title_fontsize=8)
    figure.savefig(file, dpi=100, metadata={"Software": None})
    plt.close(figure)

"""Estimated power over time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kepler_train.columns import NODE, TIME
from kepler_train.export.pictures.style import MEASURED, new_panels, save_figure, shorten


def draw_estimate(estimates: pd.DataFrame, title: str, file: Path) -> None:
    """Draw estimated power with its interval, and measured power where there is any; a panel per component."""
    figure, panels = new_panels(estimates["component"].nunique(), 1, 2.6, sharex=True)
    for axis, (component, rows) in zip(panels, estimates.groupby("component", sort=False), strict=True):
        for node, series in rows.sort_values(TIME).groupby(NODE, sort=True):
            name = f"{shorten(str(node), 20)}, " if rows[NODE].nunique() > 1 else ""
            if series["measured"].notna().any():
                axis.plot(series[TIME], series["measured"], color=MEASURED, label=f"{name}measured")
            (line,) = axis.plot(series[TIME], series["predicted"], label=f"{name}estimated")
            band = series[TIME], series["low"], series["high"]
            axis.fill_between(*band, color=line.get_color(), alpha=0.2, linewidth=0, label=f"{name}interval")
        axis.set(ylabel=f"{component} (W)", ylim=(0, None))
    panels[0].legend(loc="upper left", bbox_to_anchor=(1, 1))
    panels[-1].set_xlabel("UTC")
    figure.suptitle(title)
    save_figure(figure, file)

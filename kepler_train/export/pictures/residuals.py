"""Errors of a model in each workload, with their sign."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kepler_train.columns import WORKLOAD
from kepler_train.export.pictures.style import new_panels, save_figure, shorten

_BOX = 0.24  # height of a workload (inches)


def draw_residuals(estimates: pd.DataFrame, title: str, file: Path) -> None:
    """Draw estimated less measured power by workload: the middle half as a box, 5 % to 95 % as whiskers."""
    workloads = estimates[WORKLOAD].nunique()
    figure, panels = new_panels(estimates["component"].nunique(), 2, 1.2 + _BOX * max(workloads, 4))
    for axis, (component, rows) in zip(panels, estimates.groupby("component", sort=False), strict=True):
        error = rows["predicted"] - rows["measured"]
        names = sorted(rows[WORKLOAD].unique(), reverse=True)
        boxes = [error[rows[WORKLOAD] == name].to_numpy() for name in names]
        axis.axvline(0, color="#666666", linewidth=0.8)
        axis.boxplot(
            boxes, orientation="horizontal", whis=(5, 95), showfliers=False, widths=0.6, patch_artist=True,
            boxprops={"facecolor": "#cfe3f1"}, tick_labels=[shorten(name, 30) for name in names],
        )  # fmt: skip
        axis.set(title=component, xlabel="estimated − measured (W)")
        axis.grid(False, axis="y")
    figure.suptitle(title)
    save_figure(figure, file)

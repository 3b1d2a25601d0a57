"""Power and load over time, with the phases of the schedule: what was collected, at a glance."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kepler_train.arrays import Floats
from kepler_train.export.axes import new_figure, save_figure
from kepler_train.export.panels import colours_of
from kepler_train.samples.schedule import IDLE, Phase, Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME = 30  # letters of a load's name that fit beside its phase
_LABELLED = 0.012  # a phase shorter than this share of the window has no room for its name


def plot_timeline(frame: pd.DataFrame, main: str, schedule: Schedule, file: Path) -> None:
    """Two panels per node: power of every component (W), and the rate of the feature that stands for load."""
    nodes = sorted(frame["node"].unique())
    loads = sorted({phase.load for phase in schedule.phases} - {IDLE})
    colours = colours_of(loads) | {IDLE: "#e6e6e6"}
    figure = new_figure(12, 5.2 * len(nodes))
    axes = figure.subplots(2 * len(nodes), 1, squeeze=False, sharex=True, height_ratios=[3, 2] * len(nodes))
    for number, node in enumerate(nodes):
        rows = frame[frame["node"] == node].sort_values("time")
        power, load = axes[2 * number, 0], axes[2 * number + 1, 0]
        for column in (name for name in rows.columns if name.endswith("_power")):
            power.plot(*_with_gaps(rows, column), linewidth=1, label=column.removesuffix("_power"))
        load.plot(*_with_gaps(rows, main), linewidth=1, color="0.25")
        window = rows["time"].iloc[0], rows["time"].iloc[-1]
        for phase in (p for p in schedule.phases if p.node in ("", node) and p.start < window[1] and p.end > window[0]):
            _mark(power, load, phase, colours[phase.load], window)
        power.set(ylabel="W", ylim=(0, None), title=f"{node}: power")
        power.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)
        load.set(ylabel=f"{main} (1/s)", ylim=(0, None), xlim=window)
    axes[-1, 0].set_xlabel("UTC")
    save_figure(figure, file)


def _mark(power: Axes, load: Axes, phase: Phase, colour: str, window: tuple[pd.Timestamp, pd.Timestamp]) -> None:
    """Colour the time of a phase in both panels, and name it where there is room."""
    # matplotlib counts days since 1970.
    start, end = (moment.timestamp() / 86_400 for moment in (phase.start, phase.end))
    for axis in (power, load):
        axis.axvspan(start, end, color=colour, alpha=0.35, linewidth=0)
    if (phase.end - phase.start) >= _LABELLED * (window[1] - window[0]):
        name = shorten(phase.load, _NAME, placeholder="…") + (f" ×{phase.instances}" if phase.instances else "")
        place = power.get_xaxis_transform()
        power.text((start + end) / 2, 0.02, name, transform=place, rotation=90, fontsize=7, ha="center", va="bottom")


def _with_gaps(rows: pd.DataFrame, column: str) -> tuple[pd.DatetimeIndex, Floats]:
    """Times and values with a hole where windows were dropped, so that no line is drawn across."""
    times = rows["time"].to_numpy()
    values = rows[column].to_numpy(dtype=float)
    steps = np.diff(times)
    holes = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1 if len(steps) else np.array([], dtype=int)
    return pd.DatetimeIndex(np.insert(times, holes, times[holes - 1])), np.insert(values, holes, np.nan)

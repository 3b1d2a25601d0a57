"""Power and load over time, with the phases of the schedule: what was collected, at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kepler_train.arrays import Floats
from kepler_train.columns import NODE, TIME, is_power, meter_of
from kepler_train.export.pictures.style import WIDTH, new_figure, number, save_figure, shorten, workload_marks
from kepler_train.samples.schedule import Phase, Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME = 22  # letters of a load's name that fit beside its phase
_LABELLED = 0.012  # a phase shorter than this share of the window has no room for its name
_HEADROOM = 1.45  # of the highest power: names of phases are above the lines


def draw_timeline(frame: pd.DataFrame, main: str, schedule: Schedule, file: Path) -> None:
    """Draw two panels per node: power of every component (W), and the rate of the feature that stands for load."""
    nodes = sorted(frame[NODE].unique())
    marks = workload_marks(phase.load for phase in schedule.phases)
    figure = new_figure(1.2 * WIDTH, 4.8 * len(nodes))
    axes = figure.subplots(2 * len(nodes), 1, squeeze=False, sharex=True, height_ratios=[3, 2] * len(nodes))[:, 0]
    for node, power, load in zip(nodes, axes[::2], axes[1::2], strict=True):
        rows = frame[frame[NODE] == node].sort_values(TIME)
        for column in filter(is_power, rows.columns):
            power.plot(*_with_gaps(rows, column), label=meter_of(column))
        load.plot(*_with_gaps(rows, main), color="#444444")
        window = rows[TIME].iloc[0], rows[TIME].iloc[-1]
        phases = [p for p in schedule.phases if p.ran_on(node) and p.start < window[1] and p.end > window[0]]
        for phase in phases:
            _mark(power, load, phase, marks[phase.load].colour, window)
        power.set(ylabel="power (W)", title=f"{node}: power and load over time")
        power.set_ylim(0, power.get_ylim()[1] * (_HEADROOM if phases else 1))
        power.legend(loc="upper left", bbox_to_anchor=(1, 1))
        load.set(ylabel=f"{main} (1/s)", ylim=(0, None), xlim=window)
        load.yaxis.set_major_formatter(number)
    axes[-1].set_xlabel("UTC")
    save_figure(figure, file)


def _mark(power: Axes, load: Axes, phase: Phase, colour: str, window: tuple[pd.Timestamp, pd.Timestamp]) -> None:
    """Colour the time of a phase in both panels, and name it where there is room."""
    # matplotlib counts days since 1970.
    start, end = (moment.timestamp() / 86_400 for moment in (phase.start, phase.end))
    for axis in (power, load):
        axis.axvspan(start, end, color=colour, alpha=0.15, linewidth=0)
    if (phase.end - phase.start) >= _LABELLED * (window[1] - window[0]):
        name = shorten(phase.load, _NAME) + (f" ×{phase.instances}" if phase.instances else "")
        place = power.get_xaxis_transform()
        power.text((start + end) / 2, 0.98, name, transform=place, rotation=90, fontsize=8, ha="center", va="top")


def _with_gaps(rows: pd.DataFrame, column: str) -> tuple[pd.DatetimeIndex, Floats]:
    """Return times and values with a hole where windows were dropped, so that no line is drawn across."""
    times = rows[TIME].to_numpy()
    values = rows[column].to_numpy(dtype=float)
    steps = np.diff(times)
    holes = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1 if len(steps) else np.array([], dtype=int)
    return pd.DatetimeIndex(np.insert(times, holes, times[holes - 1])), np.insert(values, holes, np.nan)

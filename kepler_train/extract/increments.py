"""What counters gained in every step of a node's clock; totals are conserved, whatever the times of their samples.

Between two samples a counter gains Δv = v[i] − v[i−1], or v[i] when it was reset in between (Δv < 0). A series that is
scraped with the clock has its gains in its own steps. Any other, of another exporter or with samples missing, is taken
to move evenly between its samples, so that for any steps Σ gains = last − first (+ what it had at each reset).
"""

from __future__ import annotations

import math

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.extract.counters import increments, running_total
from kepler_train.extract.windows import Clock
from kepler_train.samples.parquet import LATE, Series


def add_gains(gains: Floats, series: Series, clock: Clock, *, from_birth: bool) -> None:
    """Add what a series gained to the gains by step.

    A series that appears has counted from 0 since the scrape before (`from_birth`), unless that was before a gap.
    """
    times, values = _finite(series)
    if not len(times):
        return
    first = clock.place_of(times)
    if first is not None:
        gains[first : first + len(times) - 1] += increments(values)
    else:
        gains += np.diff(np.interp(clock.times, times, running_total(increments(values))))
        first = int(clock.times.searchsorted(times[0]))
    if from_birth and 0 < first < len(clock.times) and clock.whole[first - 1]:
        gains[first - 1] += values[0]


def covered_seconds(series: Series, clock: Clock) -> Floats:
    """Return the seconds of every step in which the gain of a series is known: not across its gaps and resets."""
    times, values = _finite(series)
    if len(times) < 2:
        return np.zeros(len(clock.steps))
    elapsed = np.diff(times)
    longest = max(clock.longest, LATE * float(np.median(elapsed)))  # other exporters have intervals of their own
    known = np.where((elapsed <= longest) & (np.diff(values) >= 0), elapsed, 0.0)
    first = clock.place_of(times)
    if first is not None:
        covered = np.zeros(len(clock.steps))
        covered[first : first + len(known)] = known
        return covered
    return np.diff(np.interp(clock.times, times, running_total(known)))


def _finite(series: Series) -> tuple[Floats, Floats]:
    """Return times and values of the samples that are finite numbers."""
    if math.isfinite(np.add.reduce(series.values)):  # the sum is no number if any of them is none
        return series.times, series.values
    finite = np.isfinite(series.values)
    return series.times[finite], series.values[finite]

"""Clock steps: moments at which the clock that stamps the samples was set.

Prometheus scrapes a target at a fixed phase of the interval, by a clock that never steps, and stamps the sample with
one that may. So a step shows as scrape times whose phase (time modulo interval) changes *and stays changed*: late
scrapes come back to the old phase, a gap resumes on it. Its size is then known up to whole intervals.

Steps by whole intervals leave the phase alone, but energy does not fit the time. Forward: a gap across which the
meters moved as if no time had passed (a machine that slept looks the same, and is of as little use). Back: Prometheus
refuses what seems older than its latest sample, so one interval holds the energy of many; every meter shows several
times the power that it ever shows otherwise.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.samples.parquet import LATE, Series

T = TypeVar("T")

# A phase is the median of up to this many scrapes, and of no fewer than that: a step nearer to the edge is not seen.
_MANY, _FEW = 20, 5
# Scrapes lie on a phase when they are this near to it: a share of the interval, and what a busy server is late by (s).
_NEAR, _BUSY = 0.05, 0.05
# A phase counts when so many of its scrapes lie on it; where scrapes are late at random, none does.
_ON_PHASE = 0.6
# Nothing that runs draws less than half of what it draws in its quietest hundredth …
_STANDSTILL, _QUIETEST = 0.5, 0.01
# … nor thrice of what it draws at most, but for as many moments: a load that lasts for more is no step.
_SURGE, _MOMENTS = 3.0, 3


@dataclass(frozen=True)
class ClockStep:
    """A change of the clock by `seconds`, forward or back, before the sample at `time` (Unix s)."""

    time: float
    seconds: float


def clock_steps(times: Floats, interval: float | None) -> list[ClockStep]:
    """Return the lasting changes of the phase at which one series was scraped."""
    if interval is None or len(times) < 2 * _FEW:
        return []
    near = max(_NEAR * interval, _BUSY)
    # A step can only lie where a scrape is off the phase of the one before.
    positions = np.flatnonzero(np.abs(_within_half(np.diff(times), interval)) > near) + 1
    positions = positions[(positions >= _FEW) & (positions <= len(times) - _FEW)]
    if not len(positions):
        return []
    padded = np.pad(times, _MANY, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(padded, _MANY)
    old, old_share = _phases(around[positions], times[positions - 1], interval, near)
    new, new_share = _phases(around[positions + _MANY], times[positions], interval, near)
    shifts = _within_half(new - old, interval)
    clear = (np.minimum(old_share, new_share) >= _ON_PHASE) & (np.abs(shifts) > 2 * near)
    candidates = zip(positions[clear], shifts[clear], (old_share + new_share)[clear], strict=True)
    return [ClockStep(float(times[position]), float(shift)) for position, shift in _clearest(candidates)]


def _within_half(offsets: Floats, interval: float) -> Floats:
    """Return offsets modulo the interval, from −interval/2 to interval/2."""
    return np.asarray((offsets + interval / 2) % interval - interval / 2)


def _phases(times: Floats, first: Floats, interval: float, near: float) -> tuple[Floats, Floats]:
    """Return for each row of scrapes their phase, as a time on it, and the share on it; NaN is no scrape."""
    offsets = _within_half(times - first[:, None], interval)
    middle = np.nanmedian(offsets, axis=1)
    on_phase = np.abs(_within_half(offsets - middle[:, None], interval)) <= near
    return first + middle, on_phase.sum(axis=1) / np.isfinite(times).sum(axis=1)


def _clearest(candidates: Iterable[tuple[int, float, float]]) -> list[tuple[int, float]]:
    """Return one of the (position, shift, clearness) that show the same step: where it parts the phases best."""
    by_clearness = sorted(candidates, key=lambda candidate: -candidate[2])
    return sorted((position, shift) for position, shift, _ in apart(by_clearness, lambda step: step[0], _MANY))


def apart(items: Iterable[T], place: Callable[[T], float], distance: float) -> Iterator[T]:
    """Yield items that lie farther than a distance from each one before them."""
    places: list[float] = []
    for item in items:
        at = place(item)
        number = bisect(places, at)
        if all(abs(at - other) > distance for other in places[max(number - 1, 0) : number + 1]):
            places.insert(number, at)
            yield item


def steps_by_energy(counters: Sequence[Series], interval: float | None) -> list[ClockStep]:
    """Return moments at which the energy counters of a node (J) disagree with the time that passed."""
    usable = [series for series in counters if np.isfinite(series.values).all() and len(series.times) >= 2 * _FEW]
    if interval is None or not usable:
        return []
    times = max(usable, key=lambda series: len(series.times)).times
    joules = np.diff([series.values for series in usable if np.array_equal(series.times, times)], axis=1)
    joules = joules[(joules != 0).mean(axis=1) > 1 - _QUIETEST]  # others are too coarse to tell, or stand still
    elapsed = np.diff(times)
    wide, counted = elapsed > LATE * interval, (joules >= 0).all(axis=0)
    steady = ~wide & counted
    if not len(joules) or steady.sum() <= _MOMENTS:
        return []
    # An interval that a late scrape cut short may hold a whole refresh of the meter.
    watts, total = joules / np.maximum(elapsed, interval), joules.sum(axis=0)
    quietest = float(np.quantile(total[steady] / elapsed[steady], _QUIETEST))
    forward = wide & (total < _STANDSTILL * quietest * elapsed)
    most = np.partition(watts[:, steady], -_MOMENTS - 1, axis=1)[:, -_MOMENTS - 1]
    back = ~wide & (watts > _SURGE * most[:, None]).all(axis=0)
    back[1:] &= total[:-1] > 0  # a meter that stood still before catches up
    usual = float(np.median(total[steady] / elapsed[steady]))
    positions = np.flatnonzero(counted & (forward | back))
    return [ClockStep(float(times[at + 1]), float(elapsed[at] - total[at] / usual)) for at in positions]

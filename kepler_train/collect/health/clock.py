"""Clock steps: moments at which the clock that stamps the samples was set.

Prometheus scrapes a target at a fixed phase of the interval, by a clock that never steps, and stamps the sample with
one that may. So a step shows as scrape times whose phase (time modulo interval) changes *and stays changed*: late
scrapes come back to the old phase, a gap resumes on it. The size of a step is known up to whole intervals. A step
forward by whole intervals leaves the phase alone; it shows as a gap across which the energy counter moved as if no
time had passed (a machine that slept looks the same, and is as useless to train on).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kepler_train.collect.health.timing import Floats
from kepler_train.collect.samples import LATE, Series

# A phase is the median of up to this many scrapes, and of no fewer than that: a step nearer to the edge is not seen.
_MANY, _FEW = 20, 5
# Scrapes lie on a phase when they are this near to it: a share of the interval, and what a busy server is late by (s).
_NEAR, _BUSY = 0.05, 0.05
# A phase counts when so many of its scrapes lie on it; where scrapes are late at random, none does.
_ON_PHASE = 0.6
# Nothing that runs draws less than half of what it draws in its quietest hundredth.
_STANDSTILL, _QUIETEST = 0.5, 0.01


@dataclass(frozen=True)
class ClockStep:
    """The clock was set by `seconds`, forward or back, before the sample at `time` (Unix s)."""

    time: float
    seconds: float


def clock_steps(times: Floats, interval: float | None) -> list[ClockStep]:
    """Lasting changes of the phase at which one series was scraped."""
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
    found = zip(positions[clear], shifts[clear], (old_share + new_share)[clear], strict=True)
    return [ClockStep(float(times[position]), float(shift)) for position, shift in _clearest(found)]


def _within_half(offsets: Floats, interval: float) -> Floats:
    """Offsets modulo the interval, from −interval/2 to interval/2."""
    return np.asarray((offsets + interval / 2) % interval - interval / 2)


def _phases(times: Floats, first: Floats, interval: float, near: float) -> tuple[Floats, Floats]:
    """Per row of scrapes their phase, as a time on it, and the share of them that lie on it; NaN is no scrape."""
    offsets = _within_half(times - first[:, None], interval)
    middle = np.nanmedian(offsets, axis=1)
    on_phase = np.abs(_within_half(offsets - middle[:, None], interval)) <= near
    return first + middle, on_phase.sum(axis=1) / np.isfinite(times).sum(axis=1)


def _clearest(found: Iterable[tuple[int, float, float]]) -> list[tuple[int, float]]:
    """Of (position, shift, clearness) one among neighbours that show the same step: where it parts the phases best."""
    kept: list[tuple[int, float]] = []
    for position, shift, _ in sorted(found, key=lambda one: -one[2]):
        if all(abs(position - other) > _MANY for other, _ in kept):
            kept.append((position, shift))
    return sorted(kept)


def uncounted_gaps(meter: Series, interval: float | None) -> list[ClockStep]:
    """Gaps across which an energy counter moved as if no time had passed."""
    known = np.isfinite(meter.values)
    times, values = meter.times[known], meter.values[known]
    if interval is None or len(times) < 2 * _FEW:
        return []
    elapsed, joules = np.diff(times), np.diff(values)
    steady, wide = (elapsed <= LATE * interval) & (joules >= 0), (elapsed > LATE * interval) & (joules >= 0)
    if not steady.any():
        return []
    watts = joules[steady] / elapsed[steady]
    least = _STANDSTILL * float(np.quantile(watts, _QUIETEST))
    asleep = np.flatnonzero(wide & (joules < least * elapsed))
    usual = float(np.median(watts))
    return [ClockStep(float(times[at + 1]), float(elapsed[at] - joules[at] / usual)) for at in asleep]

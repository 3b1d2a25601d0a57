"""Aliasing: scrapes that see one reading of the exporter more or less from step to step, detected in their energy.

An exporter that reads every R seconds, scraped every S > R, shows ⌊S/R⌋ or ⌈S/R⌉ readings in a step: with S = 5 and
R = 3 the energy of 3, 6, 6, 3, 6, 6 … seconds. No value repeats, so R is not seen directly; but the energy of a step,
as a share of that of the steps around it, then follows exactly this pattern. It does so in every counter alike, while
a load that comes and goes as regularly moves some more than others: both the steadiest counter and the sum of all must
show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Bools, Floats
from kepler_train.extract.windows import MOST_STEPS, stretches

_FEW = 4  # repetitions of the pattern that a stretch must hold
_LONGEST_SCRAPE = 86_400  # s; what is sampled more rarely is not scraped
# A pattern is present when its size is 1 within this tolerance and so many standard errors, which must be small …
_TOLERANCE, _ERRORS, _LARGEST_ERROR = 0.03, 3.0, 0.05
# … and when it explains this share of the variance between places in the pattern.
_EXPLAINED = 0.9
_ABSENT = 0.75  # a size that is below this by so many standard errors excludes the pattern
_MOVING = 0.9  # least share of steps in which a counter moves, to be looked at
# Of normal noise: standard deviation / median absolute deviation, and standard error of the median / of the mean.
_DEVIATION, _OF_MEDIAN = 1.4826, 1.2533


@dataclass(frozen=True)
class _Fit:
    """Fit of the pattern of a refresh: `size` is 1 where the pattern is present, and 0 where it is absent."""

    refresh: int  # s
    size: float
    error: float
    explained: float
    unevenness: float  # variance of the share of a step

    @property
    def present(self) -> bool:
        return self.full_size and self.explained >= _EXPLAINED

    @property
    def full_size(self) -> bool:
        return self.error <= _LARGEST_ERROR and abs(self.size - 1) <= _TOLERANCE + _ERRORS * self.error

    @property
    def excluded(self) -> bool:
        return self.size + _ERRORS * self.error < _ABSENT


def hidden_refresh(counters: Sequence[Floats], whole: Bools, interval: float, habit: float | None) -> float | None:
    """Return the refresh (s) of an exporter that is scraped less often: whole seconds, as people choose them.

    `counters` are the energy of every step in each of the counters (J). None where every step has the same number of
    readings; the exporter's usual refresh (`habit`) as long as the data do not exclude it.
    """
    scrape = round(interval)
    moving = [gains for gains in counters if whole.any() and (gains[whole] > 0).mean() >= _MOVING]
    if not 2 <= scrape <= _LONGEST_SCRAPE or abs(interval - scrape) > 0.01 * interval or not moving:
        return habit
    joules = min(moving, key=lambda gains: _spread(gains[whole]))
    fits = {refresh: _fit(joules, whole, scrape, refresh) for refresh in _candidates(scrape)}
    total = np.sum(moving, axis=0)
    present = [fit for fit in fits.values() if fit.present and _fit(total, whole, scrape, fit.refresh).full_size]
    if present:
        # Half a pattern may look like the whole pattern of another refresh: the whole one is the clearest.
        return float(max(present, key=lambda fit: fit.unevenness).refresh)
    usual = fits.get(round(habit)) if habit else None
    return None if usual and usual.excluded else habit


def _spread(joules: Floats) -> float:
    low, middle, high = np.quantile(joules, (0.1, 0.5, 0.9))
    return float((high - low) / middle)


def _candidates(scrape: int) -> Iterator[int]:
    """Yield refreshes (s) whose pattern is not even, and short enough to be seen."""
    for refresh in range(2, scrape):
        if 1 < refresh // math.gcd(scrape, refresh) <= MOST_STEPS:
            yield refresh


def _pattern(scrape: int, refresh: int) -> Floats:
    """Return the readings in consecutive steps, as a share of their mean."""
    steps = refresh // math.gcd(scrape, refresh)
    readings = np.diff(np.arange(steps + 1) * scrape // refresh)
    return np.asarray(readings * refresh / scrape)


def _fit(joules: Floats, whole: Bools, scrape: int, refresh: int) -> _Fit:
    """Return the mean fit over stretches: a gap may hide a restart of the exporter, which shifts the pattern."""
    pattern = _pattern(scrape, refresh) - 1
    steps, square = len(pattern), float(pattern @ pattern)
    sizes, errors, explained, weights = [], [], [], []
    for begin, end in stretches(whole):
        repetitions = (end - begin - steps + 1) // steps
        if repetitions < _FEW:
            continue
        energy = joules[begin:end]
        count = repetitions * steps
        around = np.convolve(energy, np.ones(steps), "valid")[:count]  # of each step and those around it
        middle = energy[steps // 2 : steps // 2 + count]
        share = np.divide(steps * middle, around, out=np.ones(count), where=around > 0).reshape(-1, steps)
        usual = np.median(share, axis=0)
        noise = _DEVIATION * float(np.median(np.abs(share - usual)))
        usual -= usual.mean()
        best = max(float(np.roll(pattern, place) @ usual) for place in range(steps))
        sizes.append(best / square)
        errors.append((_OF_MEDIAN * noise) ** 2 / repetitions / square)
        explained.append(best**2 / square / max(float(usual @ usual), 1e-12))
        weights.append(repetitions)
    if not weights:
        return _Fit(refresh, 0.0, math.inf, 0.0, 0.0)
    size, error, share_of_all = (float(np.average(values, weights=weights)) for values in (sizes, errors, explained))
    return _Fit(refresh, size, math.sqrt(error / len(weights)), share_of_all, square / steps)

"""Aliasing: scrapes that see now one reading of the exporter more and now one less, found from the energy of steps.

An exporter that reads every R seconds, scraped every S > R, shows ⌊S/R⌋ or ⌈S/R⌉ readings in a step: with S = 5 and
R = 3 the energy of 3, 6, 6, 3, 6, 6 … seconds. No value repeats, so R is not seen directly; but the energy of a step,
as a share of that of the steps around it, then follows just this pattern. It does so in every counter alike, while a
load that comes and goes as regularly moves some more than others: the steadiest one must show it, and the sum of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepler_train.extract.clock import MOST_STEPS, Bools, stretches
from kepler_train.extract.counters import Floats

_FEW = 4  # times that a stretch must hold the pattern
# A pattern is there when its size is known to this share of it, and is that of the refresh but for a few errors …
_KNOWN, _ERRORS, _SIZE = 0.05, 3.0, 0.03
# … and when so much of what depends on the place in the pattern is the pattern.
_EXPLAINED = 0.9
_ABSENT = 0.75  # a size that is surely below this is none
_MOVING = 0.9  # of the steps in which a counter moves, if it is to be looked at
_DEVIATION, _OF_MEDIAN = 1.4826, 1.2533  # of normal noise: deviation / median deviation, error of median / of mean


@dataclass(frozen=True)
class _Fit:
    """How the pattern of a refresh fits: `size` is 1 where it is there, and 0 where it is not."""

    refresh: int  # s
    size: float
    error: float
    explained: float
    unevenness: float  # variance of the share of a step

    @property
    def seen(self) -> bool:
        return self.whole and self.explained >= _EXPLAINED

    @property
    def whole(self) -> bool:
        return self.error <= _KNOWN and abs(self.size - 1) <= _SIZE + _ERRORS * self.error

    @property
    def excluded(self) -> bool:
        return self.size + _ERRORS * self.error < _ABSENT


def hidden_refresh(counters: Sequence[Floats], whole: Bools, interval: float, habit: float | None) -> float | None:
    """The refresh (s) of an exporter that is scraped less often: whole seconds, as people choose them.

    `counters` are the energy of every step in each of the counters (J). None where every step has the same number of
    readings; the exporter's habit as long as the data do not exclude it.
    """
    scrape = round(interval)
    moving = [own for own in counters if whole.any() and (own[whole] > 0).mean() >= _MOVING]
    if scrape < 2 or abs(interval - scrape) > 0.01 * interval or not moving:
        return habit
    joules = min(moving, key=lambda own: _spread(own[whole]))
    fits = {refresh: _fit(joules, whole, scrape, refresh) for refresh in range(2, scrape) if scrape % refresh}
    total = np.sum(moving, axis=0)
    seen = [fit for fit in fits.values() if fit.seen and _fit(total, whole, scrape, fit.refresh).whole]
    if seen:
        # Half a pattern may look like the whole pattern of another refresh: the whole one is the clearest.
        return float(max(seen, key=lambda fit: fit.unevenness).refresh)
    usual = fits.get(round(habit)) if habit else None
    return None if usual and usual.excluded else habit


def _spread(joules: Floats) -> float:
    low, middle, high = np.quantile(joules, (0.1, 0.5, 0.9))
    return float((high - low) / middle)


def _pattern(scrape: int, refresh: int) -> Floats:
    """The readings in consecutive steps, as a share of their mean."""
    steps = refresh // math.gcd(scrape, refresh)
    readings = np.diff(np.arange(steps + 1) * scrape // refresh)
    return np.asarray(readings * refresh / scrape)


def _fit(joules: Floats, whole: Bools, scrape: int, refresh: int) -> _Fit:
    """Stretches are judged apart: a gap may hide a restart of the exporter, after which the pattern lies elsewhere."""
    pattern = _pattern(scrape, refresh) - 1
    steps, square = len(pattern), float(pattern @ pattern)
    sizes, errors, explained, weights = [], [], [], []
    for begin, end in stretches(whole):
        times = (end - begin - steps + 1) // steps
        if times < _FEW or steps > MOST_STEPS:
            continue
        own = joules[begin:end]
        around = np.convolve(own, np.ones(steps), "valid")[: times * steps]  # of the steps around each, itself included
        middle = own[steps // 2 : steps // 2 + times * steps]
        share = np.divide(steps * middle, around, out=np.ones(len(middle)), where=around > 0).reshape(times, steps)
        usual = np.median(share, axis=0)
        noise = _DEVIATION * float(np.median(np.abs(share - usual)))
        usual -= usual.mean()
        best = max(float(np.roll(pattern, place) @ usual) for place in range(steps))
        sizes.append(best / square)
        errors.append((_OF_MEDIAN * noise) ** 2 / times / square)
        explained.append(best**2 / square / max(float(usual @ usual), 1e-12))
        weights.append(times)
    if not weights:
        return _Fit(refresh, 0.0, math.inf, 0.0, 0.0)
    size, error, share_of_all = (float(np.average(values, weights=weights)) for values in (sizes, errors, explained))
    return _Fit(refresh, size, math.sqrt(error / len(weights)), share_of_all, square / steps)

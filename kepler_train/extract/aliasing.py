"""Aliasing: scrapes that see now one reading of the exporter more and now one less, found from the energy of steps.

An exporter that reads every R seconds, scraped every S > R, shows ⌊S/R⌋ or ⌈S/R⌉ readings in a step: with S = 5 and
R = 3 the energy of 3, 6, 6, 3, 6, 6 … seconds. No value repeats, so R is not seen directly; but the energy of a step,
as a share of that of the steps around it, then follows just this pattern, and a load does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepler_train.extract.clock import MOST_STEPS, Bools, stretches
from kepler_train.extract.counters import Floats

_FEW = 4  # times that a stretch must hold the pattern
# A pattern is there when its size is that of the refresh but for this share, and this many times its error …
_SIZE, _SURE = 0.25, 4.0
# … and when so much of what depends on the place in the pattern is the pattern.
_EXPLAINED = 0.75
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
        sure = abs(self.size - 1) <= _SIZE and self.size > _SURE * self.error
        return sure and self.explained >= _EXPLAINED

    @property
    def excluded(self) -> bool:
        return self.size + _SURE * self.error < 1 - _SIZE


def hidden_refresh(joules: Floats, whole: Bools, interval: float, habit: float | None) -> float | None:
    """The refresh (s) of an exporter that is scraped less often: whole seconds, as people choose them.

    None where every step has the same number of readings; the exporter's habit as long as the data do not exclude it.
    """
    scrape = round(interval)
    if scrape < 2 or abs(interval - scrape) > 0.01 * interval:
        return habit
    fits = {refresh: _fit(joules, whole, scrape, refresh) for refresh in range(2, scrape) if scrape % refresh}
    seen = [fit for fit in fits.values() if fit.seen]
    if seen:
        # Half a pattern may look like the whole pattern of another refresh: the whole one is the clearest.
        return float(max(seen, key=lambda fit: fit.unevenness).refresh)
    usual = fits.get(round(habit)) if habit else None
    return None if usual and usual.excluded else habit


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

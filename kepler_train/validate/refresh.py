"""The refresh interval of an energy counter, whatever the scrape interval.

A counter that its exporter refreshes every R seconds, scraped every S < R seconds, repeats values: its changes are seen
⌊R/S⌋·S or ⌈R/S⌉·S apart, and R apart on average. Where S ≥ R every scrape shows a change, and only R ≤ S is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.samples.parquet import LATE, Series
from kepler_train.validate.timing import scrape_times

# Changes up to this many times the usual are apart by chance of phase; longer ones are a counter that stood still.
_USUAL = 2.5
# Scrapes jitter: a refresh is longer than the scrape interval when it is so by a twentieth, and some values repeat.
_LONGER, _REPEATED = 1.05, 3


@dataclass(frozen=True)
class Refresh:
    """The seconds between changes of a counter; `at_most` where the scrapes are too far apart to tell."""

    interval: float | None = None
    at_most: bool = False
    standstill: float = 0.0  # s, the longest time without a change while the scrapes went on


def refresh_of(series: Sequence[Series], interval: float | None) -> Refresh:
    """Return the refresh interval of the counters of one meter, which are refreshed together."""
    changes = np.unique(np.concatenate([_changes(counter) for counter in series])) if series else np.array([])
    if interval is None or not len(changes):
        return Refresh()
    scrapes = scrape_times(series)
    apart = _apart(changes, scrapes, interval)
    # The counter may stand still from the beginning, or to the end.
    standstill = float(np.max(_apart(np.unique([scrapes[0], *changes, scrapes[-1]]), scrapes, interval), initial=0.0))
    if not len(apart):
        return Refresh(standstill=standstill)
    usual = apart[apart <= _USUAL * np.median(apart)]
    mean = float(usual.mean())
    if mean <= _LONGER * interval or len(scrapes) - 1 - len(changes) < _REPEATED:
        return Refresh(interval, True, standstill)
    return Refresh(mean, False, standstill)


def _changes(series: Series) -> Floats:
    """Return the scrapes that saw another value than the scrape before."""
    known = np.isfinite(series.values)
    times, values = series.times[known], series.values[known]
    return np.asarray(times[1:][np.diff(values) != 0])


def _apart(moments: Floats, scrapes: Floats, interval: float) -> Floats:
    """Return the seconds between consecutive moments without a gap in the scrapes between them."""
    gaps = scrapes[1:][np.diff(scrapes) > LATE * interval]
    passed = np.searchsorted(gaps, moments, side="right")
    return np.asarray(np.diff(moments)[np.diff(passed) == 0])

"""Scrape times of a node: the usual interval, and where scrapes are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats, Positions
from kepler_train.samples.parquet import LATE, Series

Window = tuple[float, float]  # Unix s
# Numbers that a `ScrapeTally` gathers before it counts them.
_GATHERED = 1 << 20


@dataclass(frozen=True)
class Gaps:
    """The scrapes that are missing in a window."""

    count: int = 0
    longest: float = 0.0  # s between two neighbouring samples, or a sample and the edge of the window
    missing_share: float = 0.0  # of the scrapes that were due


def median_scrape_interval(series: Sequence[Series]) -> float | None:
    """Return the median time between two samples of a series (s), which late and missing scrapes do not move."""
    steps = [np.diff(single.times) for single in series if len(single.times) > 1]
    return float(np.median(np.concatenate(steps))) if steps else None


def scrape_times(series: Sequence[Series]) -> Floats:
    """Return when any of these series was scraped (Unix s)."""
    return np.unique(np.concatenate([single.times for single in series])) if series else np.array([])


def find_gaps(times: Floats, interval: float | None, window: Window) -> Gaps:
    """Return the stretches of the window without a scrape, longer than a late scrape explains."""
    if interval is None or not len(times):
        return Gaps()
    inner, edges = np.diff(times), np.array([times[0] - window[0], window[1] - times[-1]])
    wide, outer = inner[inner > LATE * interval], edges[edges > LATE * interval]
    missing = np.sum(np.rint(wide / interval) - 1) + np.sum(np.floor(outer / interval))
    longest = np.max(np.concatenate([wide, outer]), initial=0.0)
    return Gaps(len(wide) + len(outer), float(longest), float(missing / (missing + len(times))))


class ScrapeTally:
    """When series were scraped, told of one after the other: their times are counted, and not kept."""

    def __init__(self) -> None:
        self._last: Floats = np.array([])  # the times of the series that came last …
        self._repeated = 0  # … and of so many in a row, as series of one exporter share their times
        self._times: list[Floats] = []
        self._steps: list[tuple[Floats, Positions]] = []  # s between samples of a series, and how often
        self._gathered = 0

    def add(self, times: Floats) -> None:
        """Count the samples of a series."""
        if times is not self._last:
            self._count()
            self._last = times
        self._repeated += 1

    def _count(self) -> None:
        if self._repeated:
            steps, counts = np.unique(np.diff(self._last), return_counts=True)
            self._times.append(self._last)
            self._steps.append((steps, counts * self._repeated))
            self._gathered += len(self._last) + len(steps)
            self._repeated = 0
        if self._gathered > _GATHERED:
            self._merge()

    def _merge(self) -> None:
        self._count_steps()
        self._times = [np.unique(np.concatenate(self._times))]
        self._gathered = 0

    def _count_steps(self) -> tuple[Floats, Positions]:
        """Return the different steps in order, and how often each is there."""
        if len(self._steps) != 1:
            steps = np.concatenate([np.empty(0), *(steps for steps, _ in self._steps)])
            counts = np.concatenate([np.empty(0, np.intp), *(counts for _, counts in self._steps)])
            different, place = np.unique(steps, return_inverse=True)
            self._steps = [(different, np.bincount(place, counts, len(different)).astype(np.intp))]
        return self._steps[0]

    @property
    def times(self) -> Floats:
        """Return when any of the series was scraped (Unix s)."""
        self._count()
        self._merge()
        return self._times[0]

    @property
    def interval(self) -> float | None:
        """Return the median time between two samples of a series (s)."""
        self._count()
        steps, counts = self._count_steps()
        ends = np.cumsum(counts)
        if not len(ends):
            return None
        middle = (ends[-1] - 1) / 2
        low, high = (steps[np.searchsorted(ends, place, "right")] for place in (np.floor(middle), np.ceil(middle)))
        return float((low + high) / 2)

    def longer_than(self, seconds: float) -> int:
        """Return how many steps of single series are longer."""
        self._count()
        steps, counts = self._count_steps()
        return int(counts[steps > seconds].sum())

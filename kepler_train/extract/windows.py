"""The clock of a node: the moments at which its meter was scraped, and the windows between them.

A step is the time between two consecutive scrapes. Windows are made of whole steps, so that increments between scrapes
need not be cut: a late scrape makes one window longer and the next shorter, and both rates stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kepler_train.arrays import Bools, Floats, Positions
from kepler_train.samples.parquet import LATE

MOST_STEPS = 12  # in a window that fits the exporter's refresh
# A window fits the refresh of the exporter when it is a whole number of refreshes but for this share of it.
_FITS = 0.01
# Windows in a row without any energy that are taken for a late refresh.
_STILL = 2
# Rows count nanoseconds since 1970 in 64 bits: from the year 1677 to 2262 (s).
_FARTHEST = 2**63 / 1e9


@dataclass(frozen=True)
class Clock:
    """When the meter of a node was scraped (Unix s)."""

    times: Floats
    _placed: list[tuple[Floats, int | None]] = field(default_factory=list, compare=False, repr=False)

    def place_of(self, times: Floats) -> int | None:
        """Return where a series begins that is scraped with the clock; None for other times or missing samples.

        Most series share one array of times, which is compared once.
        """
        if not self._placed or self._placed[0][0] is not times:
            first = int(self.times.searchsorted(times[0]))
            scrapes = self.times[first : first + len(times)]
            self._placed[:] = [(times, first if np.array_equal(scrapes, times) else None)]
        return self._placed[0][1]

    @cached_property
    def steps(self) -> Floats:
        """Return the length of every step (s)."""
        return np.diff(self.times)

    @cached_property
    def interval(self) -> float:
        """Return the usual length of a step (s)."""
        return float(np.median(self.steps))

    @property
    def longest(self) -> float:
        """Return the length of the longest step that is no gap (s)."""
        return LATE * self.interval

    @cached_property
    def whole(self) -> Bools:
        """Return which steps are not gaps."""
        return self.steps <= self.longest


@dataclass(frozen=True)
class ScrapeWindows:
    """Windows of whole steps, in order and without overlap: each from scrape `first` to scrape `last` of the clock."""

    clock: Clock
    first: Positions
    last: Positions

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def starts(self) -> Floats:
        """Return when each window starts (Unix s)."""
        return self.clock.times[self.first]

    @cached_property
    def ends(self) -> Floats:
        """Return when each window ends (Unix s)."""
        return self.clock.times[self.last]

    @cached_property
    def seconds(self) -> Floats:
        """Return the length of each window (s)."""
        return self.ends - self.starts

    @property
    def can_be_rows(self) -> Bools:
        """Return which windows lie in a time that rows can name: others are of samples with wrong times."""
        return (self.starts > -_FARTHEST) & (self.ends < _FARTHEST)

    def sum_steps(self, by_step: Floats) -> Floats:
        """Return what was gained in each window, from what was gained in each step (the last axis)."""
        if len(self) == by_step.shape[-1]:
            return by_step  # every step is a window
        if (self.last - self.first == 1).all():
            return np.asarray(by_step[..., self.first])
        nothing = np.zeros((*by_step.shape[:-1], 1))  # reduceat needs a step after the last window
        padded = np.concatenate([by_step, nothing], axis=-1)
        return np.asarray(np.add.reduceat(padded, np.column_stack([self.first, self.last]).ravel(), axis=-1)[..., ::2])


def make_windows(clock: Clock, at_once: int, moved: Bools) -> ScrapeWindows:
    """Return windows of `at_once` steps, from the first scrape on and anew after every gap; a rest is left out.

    `moved` says in which steps any energy counter changed. An exporter that is late with a refresh shows 0 in one
    window and 2x in the next: the two become one. At the end of a stretch such a window is left out.
    """
    runs = [np.arange(begin, end - at_once + 1, at_once) for begin, end in stretches(clock.whole)]
    first = np.concatenate([np.empty(0, dtype=np.intp), *runs])
    last = first + at_once
    moves = np.concatenate([[0], np.cumsum(moved)])
    keep = np.ones(len(first), dtype=bool)
    for begin, end in stretches(moves[last] == moves[first]):
        if end - begin > _STILL:
            continue  # it stands still: that is what was measured
        keep[begin:end] = False
        if end < len(first) and first[end] == last[end - 1]:
            first[end] = first[begin]
    return ScrapeWindows(clock, first[keep], last[keep])


def stretches(flags: Bools) -> Positions:
    """Return begin and end of every stretch of True."""
    return np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))).reshape(-1, 2)


def steps_at_once(interval: float, refresh: float | None, resolution: float) -> int:
    """Return how many steps make a window: as requested (s), else the fewest that hold a whole number of refreshes.

    An exporter that reads its counters every R seconds, scraped every S, shows the energy of ⌊S/R⌋·R or ⌈S/R⌉·R seconds
    in a step of S: 0, 2x, 0, 2x where R = 2·S. In windows of k·S seconds with k·S = n·R it shows that of n·R always.
    """
    if resolution:
        return max(1, round(resolution / interval))
    if not refresh:
        return 1
    seconds = interval * np.arange(1, MOST_STEPS + 1)
    refreshes = np.maximum(np.rint(seconds / refresh), 1)
    misfit = np.abs(seconds - refreshes * refresh) / seconds
    return int(np.flatnonzero(misfit <= max(_FITS, misfit.min()))[0]) + 1

"""The health of one metric of one node."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.samples.duplicates import duplicated
from kepler_train.samples.parquet import LATE, Series
from kepler_train.validate.clock import ClockStep, clock_steps
from kepler_train.validate.timing import ScrapeTally, Window, find_gaps


@dataclass(frozen=True)
class MetricHealth:
    """The counts of one metric on one node. Times are Unix s, durations s."""

    kind: str  # counter or gauge
    series: int
    samples: int
    first: float
    last: float
    scrape_interval: float | None
    gaps: int  # stretches in which no series of the metric was scraped
    longest_gap: float
    missing_share: float  # of the scrapes due in the window
    series_gaps: int  # stretches that single series lack
    resets: int  # falls of a counter; a gauge may fall
    doubled: int  # samples that were dropped, since their series had one of the same time
    duplicate_series: int  # series that another one repeats, scraped otherwise
    not_finite: int  # NaN and Inf
    negative: int  # values below 0 of a counter
    moved: bool
    clock_steps: list[ClockStep] = field(default_factory=list)


class MetricTally:
    """The health of one metric on one node, told of one series after the other: their samples are not kept."""

    def __init__(self, *, counter: bool, exporter_pod: bool) -> None:
        self.moved = False
        self._counter, self._exporter_pod = counter, exporter_pod
        self._scrapes = ScrapeTally()
        self._edges: list[Series] = []
        self._longest: Floats = np.array([])
        self._samples = self._resets = self._not_finite = self._negative = self._doubled = 0

    def add(self, series: Series) -> None:
        """Count the samples of a series."""
        self._scrapes.add(series.times)
        edges = series.times[[0, -1]] if len(series.times) else series.times
        self._edges.append(Series(series.labels, edges, edges))
        if len(series.times) > len(self._longest):
            self._longest = series.times
        known = series.values[np.isfinite(series.values)]
        changes = np.diff(known)
        self.moved = self.moved or bool(np.any(changes != 0))
        self._samples += len(series.values)
        self._not_finite += len(series.values) - len(known)
        self._doubled += series.doubled
        if self._counter:
            self._resets += int(np.sum(changes < 0))
            self._negative += int(np.sum(known < 0))

    def health(self, window: Window) -> MetricHealth:
        """Return the health in a window."""
        interval, times = self._scrapes.interval, self._scrapes.times
        gaps = find_gaps(times, interval, window)
        return MetricHealth(
            kind="counter" if self._counter else "gauge",
            series=len(self._edges),
            samples=self._samples,
            first=float(times[0]),
            last=float(times[-1]),
            scrape_interval=interval,
            gaps=gaps.count,
            longest_gap=gaps.longest,
            missing_share=gaps.missing_share,
            series_gaps=self._scrapes.longer_than(LATE * interval) if interval else 0,
            resets=self._resets,
            doubled=self._doubled,
            duplicate_series=duplicated(self._edges, exporter_pod=self._exporter_pod),
            not_finite=self._not_finite,
            negative=self._negative,
            moved=self.moved,
            clock_steps=clock_steps(self._longest, interval),
        )

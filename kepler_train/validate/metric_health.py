"""The health of one metric of one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kepler_train.samples.duplicates import duplicated
from kepler_train.samples.parquet import LATE, Series
from kepler_train.validate.clock import ClockStep, clock_steps
from kepler_train.validate.timing import Window, find_gaps, median_scrape_interval, scrape_times


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


def metric_health(series: Sequence[Series], window: Window, *, counter: bool, exporter_pod: bool) -> MetricHealth:
    """Return the health of one metric on one node, from all its series."""
    interval, times = median_scrape_interval(series), scrape_times(series)
    gaps = find_gaps(times, interval, window)
    owner = np.repeat(np.arange(len(series)), [len(single.times) for single in series])
    stamps, values = (
        np.concatenate([single.times for single in series]),
        np.concatenate([single.values for single in series]),
    )
    known = np.isfinite(values)
    within = np.diff(owner) == 0
    within_known = np.diff(owner[known]) == 0
    changes = np.diff(values[known])[within_known]
    return MetricHealth(
        kind="counter" if counter else "gauge",
        series=len(series),
        samples=len(values),
        first=float(times[0]),
        last=float(times[-1]),
        scrape_interval=interval,
        gaps=gaps.count,
        longest_gap=gaps.longest,
        missing_share=gaps.missing_share,
        series_gaps=int(np.sum(np.diff(stamps)[within] > LATE * interval)) if interval else 0,
        resets=int(np.sum(changes < 0)) if counter else 0,
        doubled=sum(single.doubled for single in series),
        duplicate_series=duplicated(series, exporter_pod=exporter_pod),
        not_finite=int(np.sum(~known)),
        negative=int(np.sum(values[known] < 0)) if counter else 0,
        moved=bool(np.any(changes != 0)),
        clock_steps=clock_steps(max(series, key=lambda single: len(single.times)).times, interval),
    )

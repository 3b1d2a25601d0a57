"""Scrape times of a node: the usual interval, and where scrapes are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.samples.parquet import LATE, Series

Window = tuple[float, float]  # Unix s


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

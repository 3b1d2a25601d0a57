"""The moments at which an exporter read what a scrape shows: at the scrape, or at the last tick of its own clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.node import NodeRun

USUAL_SKEW = 0.4  # of the scrape interval
SAME = 1e-4  # s: moments nearer than this are one; timestamps are whole milliseconds, Unix times exact to 2⁻²² s


@dataclass(frozen=True)
class Reading:
    """The exporter's clock. It reads everything every `refresh` seconds, one reading being at `phase` (Unix s).

    With 0 it reads at the scrape. Work is read `skew` seconds before energy; the later of the two is at the
    refresh. Scrapes come every `interval` seconds, one at `origin`; a live exporter (0) does not know when.
    """

    refresh: float = 0.0
    phase: float = 0.0
    skew: float = 0.0
    interval: float = 0.0
    origin: float = 0.0

    @property
    def span(self) -> float:
        """Return the time a gauge covers (s): since the reading before."""
        return self.refresh or self.interval

    def work(self, times: Floats) -> Floats:
        """Return the moments whose counters of work scrapes at `times` show."""
        return self._refreshed(times) - max(self.skew, 0.0)

    def energy(self, times: Floats) -> Floats:
        """Return the moments whose energy scrapes at `times` show."""
        return self._refreshed(times) + min(self.skew, 0.0)

    def first_from(self, moment: float) -> float:
        """Return the first moment from this one on whose counters of work a scrape shows, without faults."""
        read = moment + max(self.skew, 0.0)
        if self.refresh:
            read = self.phase + math.ceil((read - SAME - self.phase) / self.refresh) * self.refresh
        if self.interval:
            read = self.origin + math.ceil((read - SAME - self.origin) / self.interval) * self.interval
        return float(self.work(np.array([read]))[0])

    def _refreshed(self, times: Floats) -> Floats:
        if not self.refresh:
            return times
        return np.asarray(self.phase + np.floor((times + SAME - self.phase) / self.refresh) * self.refresh)


def skew_seconds(skew: float, faults: frozenset[str], scrape: float) -> float:
    """Return the skew (s) that was given, in seconds or as the fault."""
    return skew or (USUAL_SKEW * scrape if "skew" in faults else 0.0)


def reading_of(run: NodeRun, faults: frozenset[str], offset: float = 0.0, *, live: bool = False) -> Reading | None:
    """Return how this node's exporter reads, or None where every scrape shows its own moment."""
    skew = skew_seconds(run.skew, faults, run.scrape)
    if not run.refresh and not skew:
        return None
    interval = 0.0 if live else run.scrape
    return Reading(run.refresh, run.phase, skew, interval, float(run.edges[0]) + offset)

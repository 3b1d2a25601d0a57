"""When a node was scraped and how often its exporter reads, by its meters; `timing_without_meter` goes by its work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kepler_train.arrays import Bools, Floats
from kepler_train.errors import DataError
from kepler_train.extract.aliasing import hidden_refresh
from kepler_train.extract.increments import add_gains
from kepler_train.extract.windows import Clock, ScrapeWindows
from kepler_train.samples.meters import Meter
from kepler_train.samples.parquet import Series
from kepler_train.validate.clock import ClockStep, steps_by_energy
from kepler_train.validate.refresh import refresh_of


class MeterTiming:
    """Timing by the meters of a node: the clock is the scrapes of the one that was scraped most."""

    def __init__(self, node: str, meters: list[Meter], habit: float | None) -> None:
        most = max(meters, key=lambda meter: max(len(series.times) for series in meter.series))
        scrapes = np.unique(np.concatenate([series.times for series in most.series]))
        if len(scrapes) < 3:
            raise DataError(
                f"Node {node or 'without a name'} has {len(scrapes)} scrapes of its meter in the window: too few."
            )
        self.clock = Clock(scrapes)
        self._counters = [series for meter in meters if meter.counter for series in meter.series]
        self._habit = habit

    def reads(self, _: Mapping[str, Floats], /) -> tuple[float | None, Bools]:
        """Return how often the exporter reads its counters (s), and the steps in which any energy counter moved."""
        return refresh_and_moves(self.clock, self._counters, self._habit)

    def disturbed(self, windows: ScrapeWindows) -> Bools:
        """Return the windows whose energy is that of another time than their seconds."""
        return around(steps_by_energy(self._counters, self.clock.interval), windows)


def refresh_and_moves(clock: Clock, counters: Sequence[Series], habit: float | None) -> tuple[float | None, Bools]:
    """Return how often these counters are read (s), and the steps in which any of them moved.

    Where the data cannot tell, an exporter reads as often as its version usually does: `habit` (s).
    """
    gains = np.zeros((len(counters), len(clock.steps)))
    for gained, series in zip(gains, counters, strict=True):
        add_gains(gained, series, clock, from_birth=False)
    seen = refresh_of(counters, clock.interval)
    refresh = seen.interval
    if seen.at_most or refresh is None:  # every scrape shows another value
        habit = habit if (habit or 0) <= clock.interval else None
        refresh = hidden_refresh(list(gains), clock.whole, clock.interval, habit)
    return refresh, gains.sum(axis=0) > 0 if counters else np.ones(len(clock.steps), dtype=bool)


def around(steps: Iterable[ClockStep], windows: ScrapeWindows) -> Bools:
    """Return the windows in which the clock of Prometheus was set."""
    touched, times = np.zeros(len(windows), dtype=bool), windows.clock.times
    for step in steps:
        before = times[max(int(times.searchsorted(step.time)) - 1, 0)]
        first, last = windows.ends.searchsorted(before, side="right"), windows.starts.searchsorted(step.time)
        touched[first:last] = True
    return touched

"""Metric families as curves over time, and the values that a scrape reads from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.reading import SAME, Reading


@dataclass(frozen=True)
class Scrapes:
    """The times of scrapes of a node, and when its counters fell back to 0 (all times Unix seconds).

    At `restarts` the exporter came up again; at `resets` every counter began anew, the hardware's too. `stamps`
    are the times that Prometheus wrote down where its clock was wrong. Without a `reading` every scrape shows its own
    moment.
    """

    times: Floats
    restarts: tuple[float, ...] = ()
    resets: tuple[float, ...] = ()
    stamps: Floats | None = None
    reading: Reading | None = None

    @property
    def recorded(self) -> Floats:
        """Return the timestamps of the samples."""
        return self.times if self.stamps is None else self.stamps

    @cached_property
    def work(self) -> Floats:
        """Return the moment whose counters of work each scrape shows."""
        return self.reading.work(self.times) if self.reading else self.times

    @cached_property
    def energy(self) -> Floats:
        """Return the moment whose energy each scrape shows."""
        return self.reading.energy(self.times) if self.reading else self.times


@dataclass(frozen=True)
class Curve:
    """One series: exact at `times`, between them linear (counter) or the next value (gauge)."""

    labels: dict[str, str]
    times: Floats
    values: Floats
    decimals: int = 0
    survives_restart: bool = False  # kept by hardware or kernel, not by the exporter
    energy: bool = False  # read with the meter, not with the counters of work
    once_after: float = 0.0  # it is shown once, after its end; scrapes are this many seconds apart

    def sample(self, kind: str, scrapes: Scrapes) -> tuple[slice, Floats]:
        """Return the scrapes that saw this series, and the values they read."""
        first, last = self._shown(scrapes.reading)
        seen = slice(
            int(np.searchsorted(scrapes.work, first, "left")),
            int(np.searchsorted(scrapes.work, last, "right")),
        )
        at = (scrapes.energy if self.energy else scrapes.work)[seen]
        if kind == "gauge":
            span = scrapes.reading.span if scrapes.reading else 0.0
            return seen, np.round(self._gauge(at, span), self.decimals)
        values = np.interp(at, self.times, self.values)
        zeros = sorted(scrapes.resets if self.survives_restart else scrapes.resets + scrapes.restarts)
        if zeros:
            lost = np.concatenate([[0.0], np.interp(zeros, self.times, self.values)])
            # A series that began after a reset lost nothing, though its own first value may not be 0.
            lost[1:][np.asarray(zeros) <= self.times[0]] = 0.0
            values = values - lost[np.searchsorted(zeros, at, "right")]
        scale = 10.0**self.decimals
        return seen, np.floor(values * scale + 1e-6) / scale

    def _shown(self, reading: Reading | None) -> tuple[float, float]:
        """Return the first and the last moment of which a scrape shows this series."""
        begin, end = float(self.times[0]), float(self.times[-1])
        if reading:
            # What was used since the reading before its end is not lost: the next one still has it.
            end = reading.first_from(end)
            after = end + 2 * SAME
            first, last = (after, reading.first_from(after)) if self.once_after else (begin, end)
            return first - SAME, last + SAME
        # Between the last scrape of its life and the one after the next, however late they are.
        return (end + 0.65 * self.once_after, end + 1.65 * self.once_after) if self.once_after else (begin, end)

    def _gauge(self, at: Floats, span: float) -> Floats:
        """Return the value of the tick at each moment, or the mean of the `span` seconds before; 0 outside its life."""
        if not span:
            ticks = np.searchsorted(self.times, at, "left")
            return self.values[np.minimum(ticks, len(self.values) - 1)]
        summed = np.concatenate([[0.0], np.cumsum(np.diff(self.times) * self.values[1:])])
        return np.asarray((np.interp(at, self.times, summed) - np.interp(at - span, self.times, summed)) / span)


def gauge(per_tick: Floats) -> Floats:
    """Return a value per tick as values at the ticks' edges: each tells of the tick that ended there."""
    return np.concatenate([per_tick[:1], per_tick])


@dataclass
class Metric:
    """All series of one metric; a counter's name ends in `_total`, or its exporter says it is of unknown type."""

    name: str
    kind: Literal["counter", "gauge", "unknown"]
    curves: list[Curve] = field(default_factory=list)

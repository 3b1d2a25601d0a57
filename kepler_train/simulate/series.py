"""Metric families as curves over time, and what a scrape reads from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kepler_train.simulate.activity import Array


@dataclass(frozen=True)
class Scrapes:
    """When a node was scraped, and when its counters fell back to 0 (all times Unix seconds).

    At `restarts` the exporter came up again; at `resets` every counter began anew, the hardware's too. `stamps`
    are the times that Prometheus wrote down where its clock was wrong.
    """

    times: Array
    restarts: tuple[float, ...] = ()
    resets: tuple[float, ...] = ()
    stamps: Array | None = None

    @property
    def recorded(self) -> Array:
        """The timestamps of the samples."""
        return self.times if self.stamps is None else self.stamps


@dataclass(frozen=True)
class Curve:
    """One series: exact at `times`, between them linear (counter) or the next value (gauge)."""

    labels: dict[str, str]
    times: Array
    values: Array
    decimals: int = 0
    survives_restart: bool = False  # kept by hardware or kernel, not by the exporter
    seen_from: float = -np.inf  # it is exported only from this moment on

    def sample(self, kind: str, scrapes: Scrapes) -> tuple[slice, Array]:
        """The scrapes that saw this series, and the values they read."""
        seen = slice(
            int(np.searchsorted(scrapes.times, max(self.times[0], self.seen_from), "left")),
            int(np.searchsorted(scrapes.times, self.times[-1], "right")),
        )
        at = scrapes.times[seen]
        if kind == "gauge":
            return seen, np.round(self.values[np.searchsorted(self.times, at, "left")], self.decimals)
        values = np.interp(at, self.times, self.values)
        zeros = sorted(scrapes.resets if self.survives_restart else scrapes.resets + scrapes.restarts)
        if zeros:
            lost = np.concatenate([[0.0], np.interp(zeros, self.times, self.values)])
            # A series that began after a reset lost nothing, though its own first value may not be 0.
            lost[1:][np.asarray(zeros) <= self.times[0]] = 0.0
            values = values - lost[np.searchsorted(zeros, at, "right")]
        scale = 10.0**self.decimals
        return seen, np.floor(values * scale + 1e-6) / scale


def gauge(per_tick: Array) -> Array:
    """A value per tick as values at the ticks' edges: each tells of the tick that ended there."""
    return np.concatenate([per_tick[:1], per_tick])


@dataclass
class Family:
    """All series of one metric; a counter's name ends in `_total`, or its exporter says it is of unknown type."""

    name: str
    kind: Literal["counter", "gauge", "unknown"]
    curves: list[Curve] = field(default_factory=list)

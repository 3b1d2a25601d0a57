"""Metric families as curves over time, and what a scrape reads from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kepler_train.simulate.activity import Array


@dataclass(frozen=True)
class Scrapes:
    """When a node was scraped, and when its counters fell back to 0 (all times Unix seconds).

    At `restarts` the exporter came up again; at `resets` every counter began anew, the hardware's too.
    """

    times: Array
    restarts: tuple[float, ...] = ()
    resets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curve:
    """One series: exact at `times`, between them linear (counter) or the next value (gauge)."""

    labels: dict[str, str]
    times: Array
    values: Array
    decimals: int = 0
    survives_restart: bool = False  # kept by hardware or kernel, not by the exporter

    def sample(self, kind: str, scrapes: Scrapes) -> tuple[slice, Array]:
        """The scrapes that saw this series, and the values they read."""
        seen = slice(
            int(np.searchsorted(scrapes.times, self.times[0], "left")),
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


@dataclass
class Family:
    """All series of one metric; a counter's name ends in `_total`."""

    name: str
    kind: Literal["counter", "gauge"]
    curves: list[Curve] = field(default_factory=list)

"""Faults of exporter, network and meter, on request; the truth never knows of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.errors import UserError, unknown_name
from kepler_train.simulate.reading import SAME, Reading
from kepler_train.simulate.series import Scrapes

DATA_FAULTS = {
    "reset": "every counter of the node starts again at 0, twice, between two scrapes",
    "gap": "no scrape for seven minutes (at most a tenth of the history), three times",
    "late": "a third of the scrapes come late, by up to 0.6 of the interval",
    "restart": "the exporter restarts twice: two scrapes are missing, then its counters start at 0",
    "two-nodes": "a second node in the same Prometheus",
    "duplicate": "a second job scrapes the same exporter, so every series is there twice",
    "clock-step": "the clock of Prometheus is five minutes (at most a tenth of the history) fast for a while",
    "zero-power": "the uncore meter exists and stays at 0",
    "skew": "the exporter reads energy 0.4 scrape intervals after the counters of work",
}
SERVER_FAULTS = {
    "unavailable": "503 instead of an answer",
    "slow": "every answer takes two seconds longer",
    "truncated": "the body ends in the middle of the JSON",
    "too-many-samples": "422: the query would load too many samples",
    "unauthorized": "401 instead of an answer",
    "html": "a login page instead of JSON, with status 200",
}


def check_faults(names: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    """Return the names; refuse unknown ones."""
    names, known = list(names), list(known)
    for name in names:
        if name not in known:
            raise UserError(unknown_name("fault", name, known))
    return frozenset(names)


def scrapes(
    edges: Floats,
    faults: frozenset[str],
    rng: np.random.Generator,
    offset: float = 0.0,
    reading: Reading | None = None,
) -> Scrapes:
    """Return when one node was scraped: `offset` (s) after each of these moments, but for the faults."""
    tick, span = edges[1] - edges[0], edges[-1] - edges[0]
    times = edges + offset if offset else edges.copy()
    restarts: tuple[float, ...] = ()
    resets: tuple[float, ...] = ()

    def between_scrapes(share: float) -> float:
        return float(edges[int(share * (len(edges) - 1))] + tick / 2)

    keep = times <= edges[-1]  # the simulated time ends there
    if "gap" in faults:
        for share in (0.2, 0.5, 0.8):
            begin = edges[0] + share * span
            keep &= ~((times >= begin) & (times < begin + min(420.0, span / 10)))
    if "restart" in faults:
        restarts = (between_scrapes(0.3), between_scrapes(0.7))
        for moment in restarts:
            keep &= ~(np.abs(times - moment) < tick)
    if "reset" in faults:
        resets = (between_scrapes(0.4), between_scrapes(0.6))
    if "late" in faults:
        late = rng.random(len(edges)) < 1 / 3
        late[-1] = False
        times = np.round(times + late * rng.uniform(0, 0.6 * tick, len(edges)), 3)
        keep &= times <= edges[-1]
    if reading:
        read = reading.work(times)
        # An exporter that has just come up has nothing to show before its first whole reading.
        keep &= read - reading.span >= edges[0] - SAME
        for moment in restarts:
            keep &= (times < moment) | (read >= moment)
    if "clock-step" not in faults:
        return Scrapes(times[keep], restarts, resets, reading=reading)
    fast = (times >= edges[0] + 0.35 * span) & (times < edges[0] + 0.65 * span)
    stamps = times + fast * round(min(300.0, span / 10))
    # When the clock is put right, Prometheus refuses samples that seem older than what it has.
    behind = ~fast & (times >= edges[0] + 0.65 * span) & (stamps <= stamps[fast & keep].max(initial=-np.inf))
    keep &= ~behind
    return Scrapes(times[keep], restarts, resets, stamps[keep], reading)

"""Workload phases that hold too few samples to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.samples.parquet import LATE
from kepler_train.samples.schedule import Schedule

# The power of one interval may be off by what the refresh of the meter is out of step; the mean of three hardly is.
ENOUGH = 3


@dataclass(frozen=True)
class PhaseSamples:
    """The number of complete scrape intervals of a node's meters inside a phase."""

    name: str
    start: str
    end: str
    intervals: int
    enough: bool


def phase_samples(schedule: Schedule, node: str, scrapes: Floats, interval: float | None) -> list[PhaseSamples]:
    """Return every phase that ran to its end on a node, with its intervals; a gap is none."""
    begins, ends = scrapes[:-1], scrapes[1:]
    whole = (ends - begins) <= LATE * interval if interval else np.zeros(len(begins), dtype=bool)
    samples = []
    for phase in schedule.labelled():
        if phase.node not in ("", node):
            continue
        inside = whole & (begins >= phase.start.timestamp()) & (ends <= phase.end.timestamp())
        intervals = int(inside.sum())
        samples.append(
            PhaseSamples(
                phase.name or phase.load,
                f"{phase.start:%Y-%m-%dT%H:%M:%SZ}",
                f"{phase.end:%Y-%m-%dT%H:%M:%SZ}",
                intervals,
                intervals >= ENOUGH,
            )
        )
    return samples

"""Two models on the same rows: is the difference of their errors more than chance?

The rows of one workload are alike, so workloads are what is drawn, not rows. With d the difference of the mean
absolute errors (W) of each workload, challenger less champion, the figure is the mean of all d, every workload
counting once, and its interval holds a share `level` of the means of workloads drawn again with replacement
(percentile bootstrap; Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.records import Record

# With fewer, what is drawn is nearly always the same few workloads: blocks of time take their place.
FEWEST_WORKLOADS = 5
TIME_BLOCKS = 10
# An error that is larger by this share of the champion's does not matter to anybody, however certain it is.
MARGIN = 0.02
_DRAWS = 4000
_MANY = {"workload": "workloads", "block of time": "blocks of time"}
_SEED = 0  # the same decision for the same rows


class Difference(Record):
    """Mean absolute errors (W) of both, and the interval of challenger less champion, over so many units and rows."""

    champion: float
    challenger: float
    low: float
    high: float
    units: int
    unit: str  # what was drawn: workload, or block of time
    rows: int
    worse: bool  # by more than the noise and the margin together

    def words(self) -> str:
        """Return the figures as a part of a sentence."""
        return (
            f"{self.challenger:.2f} W against {self.champion:.2f} W, difference {self.low:+z.2f} to {self.high:+z.2f} W"
            f" over {self.units} {_MANY[self.unit]}"
        )


def difference_of_rows(champion: Floats, challenger: Floats, workloads: Sequence[str], level: float) -> Difference:
    """Return the difference of absolute errors (W) by row, in the order of time; rows of a workload belong together."""
    names, unit = np.unique(np.asarray(workloads, dtype=str), return_inverse=True)
    kind = "workload"
    if len(names) < FEWEST_WORKLOADS:
        blocks = min(TIME_BLOCKS, len(champion))
        unit, kind = np.arange(len(champion)) * blocks // len(champion), "block of time"
    count = np.bincount(unit)
    return _difference(
        np.bincount(unit, champion) / count, np.bincount(unit, challenger) / count, level, kind, len(champion)
    )


def difference_of_workloads(
    champion: Mapping[str, float], challenger: Mapping[str, float], level: float, rows: int
) -> Difference:
    """Return the difference of mean absolute errors (W) that are known by workload; both have the same workloads."""
    names = sorted(champion)
    errors = [np.array([of[name] for name in names], dtype=np.float64) for of in (champion, challenger)]
    return _difference(errors[0], errors[1], level, "workload", rows)


def _difference(champion: Floats, challenger: Floats, level: float, unit: str, rows: int) -> Difference:
    d = challenger - champion
    drawn = np.random.default_rng(_SEED).integers(len(d), size=(_DRAWS, len(d)))
    low, high = np.quantile(d[drawn].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    beyond_margin = (d - MARGIN * champion)[drawn].mean(axis=1)
    return Difference(
        champion=float(champion.mean()),
        challenger=float(challenger.mean()),
        low=float(low),
        high=float(high),
        units=len(d),
        unit=unit,
        rows=rows,
        worse=bool(np.quantile(beyond_margin, (1 - level) / 2) > 0),
    )

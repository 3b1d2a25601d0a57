"""Prediction intervals by conformal prediction, calibrated on workloads that the model had not seen.

Score of a held-out row: s = |measured − predicted| / (a + b·predicted); a and b ≥ 0 are the line through |residuals|
with the least squared error, so that one number is right for idle and for full load. The interval of level 1 − α is

    predicted ± q·(a + b·predicted), with q the ⌈(n + 1)(1 − α)⌉ / n quantile of the n scores

(Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018, split conformal with locally weighted residuals). All workloads
weigh the same, however long they ran (pooled by group: Dunn, Wasserman and Ramdas 2022). Rows of a workload are wrong
together, so the level is met on average over workloads like those in the data; for any single new one nothing can be
promised by fewer than 1/α workloads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kepler_train.arrays import Positions
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.lines import rising_line
from kepler_train.evaluate.protocols import Protocol
from kepler_train.models.component import Watts
from kepler_train.models.interval import apply_interval
from kepler_train.models.metadata import Interval
from kepler_train.samples.schedule import IDLE


@dataclass(frozen=True)
class Residuals:
    """Held-out rows of one component: measured and predicted power (W), and the number of the workload."""

    measured: Watts
    predicted: Watts
    workload: Positions

    def of(self, rows: npt.NDArray[np.bool_]) -> Residuals:
        """Return some of the rows, by mask."""
        return Residuals(self.measured[rows], self.predicted[rows], self.workload[rows])


def intervals(held_out: HeldOut, level: float) -> dict[str, Interval]:
    """Return the interval of each component, with its coverage of workloads that it was not calibrated on.

    It is calibrated on rows of loads that were held out whole, and on idle rows, which are never held out as a load,
    from blocks of time.
    """
    measured, predicted = held_out.columns["measured"], held_out.columns["predicted"]
    by_component: dict[str, Interval] = {}
    for component, rows in _calibration(held_out).items():
        workload = np.unique(held_out.workload.codes[rows], return_inverse=True)[1]
        residuals = Residuals(measured[rows], predicted[rows], workload)
        interval = calibrated(residuals, level)
        low, high = apply_interval(interval, residuals.predicted)
        by_component[component] = Interval(
            level=level,
            constant=interval.constant,
            share=interval.share,
            rows=len(rows),
            workloads=int(residuals.workload.max()) + 1,
            mean_width=float((high - low).mean()),
            coverage=cross_coverage(residuals, level),
        )
    return by_component


def _calibration(held_out: HeldOut) -> dict[str, Positions]:
    """Return the rows that the interval of each component is calibrated on."""
    blocked = {piece.component: piece.rows for piece in held_out.pieces if piece.protocol == Protocol.BLOCKED}
    unseen = {piece.component: piece.rows for piece in held_out.pieces if piece.protocol == Protocol.WORKLOAD}
    if not unseen:
        return blocked
    idle = held_out.workload.equal(IDLE)
    return {name: np.concatenate([blocked[name][idle[blocked[name]]], rows]) for name, rows in unseen.items()}


def calibrated(rows: Residuals, level: float) -> Interval:
    """Return the interval that held-out rows give."""
    off = np.abs(rows.measured - rows.predicted)
    constant, share = rising_line(rows.predicted, off)
    constant = max(constant, 1e-3 * float(off.mean()), 1e-9)  # a model that is never wrong has a scale too
    scores = off / (constant + share * rows.predicted)
    count = np.bincount(rows.workload)
    workloads = np.count_nonzero(count)
    order = np.argsort(scores)
    weight = np.cumsum(1 / (workloads * count[rows.workload[order]]))
    target = math.ceil((len(scores) + 1) * level) / len(scores)
    place = min(int(np.searchsorted(weight, target - 1e-12)), len(scores) - 1)
    quantile = float(scores[order[place]])
    return Interval(level=level, constant=quantile * constant, share=quantile * share)


def cross_coverage(rows: Residuals, level: float) -> float | None:
    """Return the share of rows inside the interval that the other workloads give, mean over workloads.

    None where there is one workload only.
    """
    shares = []
    for workload in np.unique(rows.workload):
        left_out = rows.workload == workload
        if not left_out.all():
            low, high = apply_interval(calibrated(rows.of(~left_out), level), rows.predicted[left_out])
            shares.append(float(((low <= rows.measured[left_out]) & (rows.measured[left_out] <= high)).mean()))
    return float(np.mean(shares)) if shares else None

"""A logarithm of the load: every further unit of work costs less than the one before."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from kepler_train.models import ComponentModel, NarrowModel
from kepler_train.models.component import Watts
from kepler_train.train.curves import fit_curve
from kepler_train.train.training_set import TrainingSet

# ln b: from nearly a straight line to nearly a step at 0.
_LOG_B = np.linspace(math.log(0.01), math.log(1e6), 24)


class LogarithmicRegressionTrainer:
    """a·ln(b·x + 1) + c over the main feature, with a, c ≥ 0 and b > 0."""

    name: ClassVar[str] = "LogarithmicRegressionTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> NarrowModel:  # noqa: ARG002
        """Learn watts from the main feature, scaled by its largest value."""
        return fit_curve(data, "logarithmic", _shape, [_LOG_B], _parameters)


def _shape(numbers: Watts, x: Watts) -> Watts:
    b = math.exp(numbers[0])
    return np.asarray(np.log1p(b * x) / math.log1p(b))


def _parameters(numbers: Watts, rise: float, start: float) -> tuple[float, ...]:
    b = math.exp(numbers[0])
    return rise / math.log1p(b), b, start

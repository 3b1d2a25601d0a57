"""An exponential of the load: rising ever faster, or towards a limit."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from kepler_train.models import ComponentModel, NarrowModel
from kepler_train.models.component import Watts
from kepler_train.train.curves import fit_curve
from kepler_train.train.training_set import TrainingSet

# b: below 0 the curve rises towards a limit, above 0 ever faster; at 0 it is a straight line.
_B = np.linspace(-30.0, 10.0, 32)
# Nearer to 0 the curve is a straight line to 0.1 %, and its parameters would only grow until float32 cannot tell them.
_STRAIGHT = 0.01


class ExponentialRegressionTrainer:
    """a·e^(b·x) + c over the main feature, with a·b ≥ 0 and a + c ≥ 0."""

    name: ClassVar[str] = "ExponentialRegressionTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> NarrowModel:  # noqa: ARG002
        """Learn watts from the main feature, scaled by its largest value."""
        return fit_curve(data, "exponential", _shape, [_B], _parameters)


def _bend(numbers: Watts) -> float:
    b = float(numbers[0])
    return b if abs(b) > _STRAIGHT else math.copysign(_STRAIGHT, b)


def _shape(numbers: Watts, x: Watts) -> Watts:
    b = _bend(numbers)
    return np.asarray(np.expm1(b * x) / math.expm1(b))


def _parameters(numbers: Watts, rise: float, start: float) -> tuple[float, ...]:
    b = _bend(numbers)
    a = rise / math.expm1(b)
    return a, b, start - a

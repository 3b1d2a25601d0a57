"""A logistic curve of the load: slow at first, then steep, then towards a limit."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from kepler_train.models import ComponentModel, NarrowModel
from kepler_train.models.component import Watts
from kepler_train.train.curves import fit_curve
from kepler_train.train.training_set import TrainingSet

# x0, the middle of the rise, which is inside the data, and ln k, its steepness.
_MIDDLE = np.linspace(0.0, 1.0, 11)
_LOG_K = np.linspace(math.log(0.5), math.log(100.0), 9)
# At x = 0 the curve is start + this share of its height there: rounding on another machine leaves it above 0 W.
_ABOVE = 1e-12


class LogisticRegressionTrainer:
    """A/(1 + e^(−k·(x − x0))) + off over the main feature, with A, k ≥ 0 and no less than 0 W at x = 0."""

    name: ClassVar[str] = "LogisticRegressionTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> NarrowModel:  # noqa: ARG002
        """Learn watts from the main feature, scaled by its largest value."""
        return fit_curve(data, "logistic", _shape, [_MIDDLE, _LOG_K], _parameters)


def _shape(numbers: Watts, x: Watts) -> Watts:
    middle, k = numbers[0], math.exp(numbers[1])
    low, high = _step(k, middle, 0.0), _step(k, middle, 1.0)
    return np.asarray((1 / (1 + np.exp(-k * (x - middle))) - low) / (high - low))


def _parameters(numbers: Watts, rise: float, start: float) -> tuple[float, ...]:
    middle, k = float(numbers[0]), math.exp(numbers[1])
    low, high = _step(k, middle, 0.0), _step(k, middle, 1.0)
    height = rise / (high - low)
    return height, middle, k, start - height * low * (1 - _ABOVE)


def _step(k: float, middle: float, x: float) -> float:
    return 1 / (1 + math.exp(-k * (x - middle)))

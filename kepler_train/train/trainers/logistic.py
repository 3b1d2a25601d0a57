"""Logistic curve of the load (W): slow at first, then steep, then towards a limit."""

from __future__ import annotations

import math

import numpy as np

from kepler_train.models import ComponentModel, SubsetModel
from kepler_train.models.component import Vector
from kepler_train.train.methods.curves import fit_curve
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet

# x0, the midpoint of the rise, which is inside the data, and ln k, its steepness.
_MIDPOINT = np.linspace(0.0, 1.0, 11)
_LOG_K = np.linspace(math.log(0.5), math.log(100.0), 9)
# At x = 0 the curve is start + this share of its height there: rounding on another machine leaves it above 0 W.
_MARGIN = 1e-12


class LogisticRegressionTrainer(Trainer):
    """A/(1 + e^(−k·(x − x0))) + off over the main feature, with A, k ≥ 0 and no less than 0 W at x = 0."""

    name = "LogisticRegressionTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> SubsetModel:
        """Return the curve over the main feature, scaled by its largest value."""
        return fit_curve(data, "logistic", _shape, [_MIDPOINT, _LOG_K], _parameters)


def _shape(shape: Vector, x: Vector) -> Vector:
    midpoint, k = shape[0], math.exp(shape[1])
    low, high = _sigmoid(k, midpoint, 0.0), _sigmoid(k, midpoint, 1.0)
    return np.asarray((1 / (1 + np.exp(-k * (x - midpoint))) - low) / (high - low))


def _parameters(shape: Vector, rise: float, start: float) -> tuple[float, ...]:
    midpoint, k = float(shape[0]), math.exp(shape[1])
    low, high = _sigmoid(k, midpoint, 0.0), _sigmoid(k, midpoint, 1.0)
    height = rise / (high - low)
    return height, midpoint, k, start - height * low * (1 - _MARGIN)


def _sigmoid(k: float, midpoint: float, x: float) -> float:
    return 1 / (1 + math.exp(-k * (x - midpoint)))

"""Exponential of the load (W): rising ever faster, or towards a limit."""

from __future__ import annotations

import math

import numpy as np

from kepler_train.models import ComponentModel, SubsetModel
from kepler_train.models.component import Vector
from kepler_train.train.methods.curves import fit_curve
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet

# b: below 0 the curve rises towards a limit, above 0 ever faster; at 0 it is a straight line.
_B = np.linspace(-30.0, 10.0, 32)
# Nearer to 0 the curve is a straight line to 0.1 %, and a and c would grow until float32 cannot hold their difference.
_MIN_B = 0.01


class ExponentialRegressionTrainer(Trainer):
    """a·e^(b·x) + c over the main feature, with a·b ≥ 0 and a + c ≥ 0."""

    name = "ExponentialRegressionTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> SubsetModel:
        """Return the curve over the main feature, scaled by its largest value."""
        return fit_curve(data, "exponential", _shape, [_B], _parameters)


def _exponent(shape: Vector) -> float:
    b = float(shape[0])
    return b if abs(b) > _MIN_B else math.copysign(_MIN_B, b)


def _shape(shape: Vector, x: Vector) -> Vector:
    b = _exponent(shape)
    return np.asarray(np.expm1(b * x) / math.expm1(b))


def _parameters(shape: Vector, rise: float, start: float) -> tuple[float, ...]:
    b = _exponent(shape)
    a = rise / math.expm1(b)
    return a, b, start - a

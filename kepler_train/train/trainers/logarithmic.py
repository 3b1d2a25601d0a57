"""Logarithm of the load (W): every further unit of work costs less than the one before."""

from __future__ import annotations

import math

import numpy as np

from kepler_train.models import ComponentModel, SubsetModel
from kepler_train.models.component import Vector
from kepler_train.train.methods.curves import fit_curve
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet

# ln b: from nearly a straight line to nearly a step at 0.
_LOG_B = np.linspace(math.log(0.01), math.log(1e6), 24)


class LogarithmicRegressionTrainer(Trainer):
    """a·ln(b·x + 1) + c over the main feature, with a, c ≥ 0 and b > 0."""

    name = "LogarithmicRegressionTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> SubsetModel:
        """Return the curve over the main feature, scaled by its largest value."""
        return fit_curve(data, "logarithmic", _shape, [_LOG_B], _parameters)


def _shape(shape: Vector, x: Vector) -> Vector:
    b = math.exp(shape[0])
    return np.asarray(np.log1p(b * x) / math.log1p(b))


def _parameters(shape: Vector, rise: float, start: float) -> tuple[float, ...]:
    b = math.exp(shape[0])
    return rise / math.log1p(b), b, start

"""Linear model with non-negative coefficients: more work never costs fewer watts, and no work never less than 0 W."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kepler_train.models import ComponentModel, LinearModel, Matrix
from kepler_train.train.training_set import TrainingSet

_BLOCK = 2000  # rows


class LinearRegressionTrainer:
    """min ‖bias + (X/scale)·w − y‖² with bias, w ≥ 0 (non-negative least squares, Lawson and Hanson 1974)."""

    name: ClassVar[str] = "LinearRegressionTrainer"
    additive: ClassVar[bool] = True  # without intercept, a sum of features gives the sum of watts
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> LinearModel:  # noqa: ARG002
        """Learn watts from features scaled by their largest value."""
        from scipy.optimize import nnls

        X = data.X
        largest = np.maximum(X.max(axis=0), -X.min(axis=0))
        scale = np.where(largest > 0, largest, 1.0)
        triangle = _triangle(data)
        triangle[:, : len(scale)] /= scale
        coefficients, _ = nnls(triangle[:, :-1], triangle[:, -1])
        bias = float(coefficients[-1]) if data.intercept else 0.0
        return LinearModel(bias, coefficients[: len(scale)], scale)


def _triangle(data: TrainingSet) -> Matrix:
    """A few rows R with ‖R·v‖ = ‖[X, 1, y]·v‖ for every v, so that the search need not look at all of them.

    The ones are a column like the others, so that the intercept is kept non-negative too; without it there are none.
    Block by block, as long as the cache holds one: the cost grows with the rows, and no faster.
    """
    parts = []
    for start in range(0, len(data), _BLOCK):
        X, y = data.X[start : start + _BLOCK], data.y[start : start + _BLOCK]
        columns = [X, np.ones(len(X)), y] if data.intercept else [X, y]
        parts.append(np.linalg.qr(np.column_stack(columns), mode="r"))
    return np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))

"""Linear model with non-negative coefficients: more work never costs fewer watts, and no work never less than 0 W."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kepler_train.models import LinearModel, Matrix, Watts
from kepler_train.models.artifact import ModelClass


class LinearRegressionTrainer:
    """min ‖bias + (X/scale)·w − y‖² with bias, w ≥ 0 (non-negative least squares, Lawson and Hanson 1974)."""

    name: ClassVar[str] = "LinearRegressionTrainer"
    model_class: ClassVar[ModelClass] = "scikit"
    additive: ClassVar[bool] = True  # without intercept, a sum of features gives the sum of watts

    def fit(self, X: Matrix, y: Watts, *, intercept: bool, seed: int) -> LinearModel:  # noqa: ARG002
        """Learn watts from features scaled by their largest value."""
        from scipy.optimize import nnls

        largest = np.abs(X).max(axis=0)
        scale = np.where(largest > 0, largest, 1.0)
        # The intercept is a column like the others, so that it is kept non-negative too.
        columns = np.hstack([X / scale, np.ones((len(X), 1))]) if intercept else X / scale
        # ‖A·w − y‖² = ‖R·w − Qᵀy‖² + constant with A = QR: the search runs on a few rows, not on all of them.
        orthogonal, triangular = np.linalg.qr(columns)
        coefficients, _ = nnls(triangular, orthogonal.T @ y)
        bias = float(coefficients[-1]) if intercept else 0.0
        return LinearModel(bias, coefficients[: X.shape[1]], scale)

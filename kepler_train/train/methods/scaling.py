"""The scales of features: models read features divided by their largest value."""

from __future__ import annotations

import numpy as np

from kepler_train.models.component import Matrix, Vector


def max_abs_scale(X: Matrix) -> Vector:
    """Return the largest absolute value of each feature (1/s); 1 for a feature that is always 0."""
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    return np.where(largest > 0, largest, 1.0)


def max_scale(X: Matrix) -> Vector:
    """Return the largest value of each feature (1/s); 0 for a feature that is never above 0."""
    return np.asarray(np.maximum(X.max(axis=0), 0.0), dtype=np.float64)

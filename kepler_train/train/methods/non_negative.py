"""Non-negative weights with the least absolute error: power never falls with load, and outliers count little."""

from __future__ import annotations

import numpy as np

from kepler_train.models.component import Matrix, Vector, Watts
from kepler_train.models.ramps import Ramp, RampModel, products, ramp_values
from kepler_train.train.training_set import TrainingSet

# Times the largest value seen: how far a trend is followed beyond the data. A feature that was next to nothing in
# training, such as cache misses, can be a hundred times larger later, and no slope holds that far.
EXTRAPOLATION = 1.5

_ROUNDS = 12
# Errors below these shares of the spread of y, or of its size, count alike: the weight of a row is finite.
_OF_SPREAD, _OF_SIZE = 0.02, 1e-3
# Of the mean square of a column: keeps the equations solvable where columns are multiples of each other.
_RIDGE = 1e-7


def least_absolute_weights(columns: Matrix, y: Watts) -> Vector:
    """Return the weights w ≥ 0 with the least Σ |columns·w − y|.

    Iteratively reweighted least squares with row weights 1/|error| (Schlossmacher 1973). Each round is scipy's
    non-negative least squares on the Cholesky factor of the normal equations, whose cost grows with the rows only.
    As a linear program (scipy.optimize.linprog, HiGHS) 2,400 rows take 200 times as long, for the same error.
    """
    from scipy.optimize import nnls

    size = np.sqrt(np.mean(columns**2, axis=0))
    size[size == 0] = 1.0
    columns = columns / size
    floor = max(_OF_SPREAD * float(y.std()), _OF_SIZE * float(np.abs(y).max()), 1e-9)
    row_weights = np.ones(len(y))
    weights = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        weighted = columns * row_weights[:, None]
        square = weighted.T @ columns
        square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
        lower = np.linalg.cholesky(square)
        target = np.linalg.solve(lower, weighted.T @ y)
        previous, (weights, _) = weights, nnls(lower.T, target, maxiter=100 * len(square))
        if np.allclose(weights, previous, rtol=1e-3, atol=1e-3 * floor):
            break
        row_weights = 1.0 / np.maximum(np.abs(columns @ weights - y), floor)
    return np.asarray(weights / size, dtype=np.float64)


def fit_ramps(data: TrainingSet, ramps: list[Ramp], terms: list[tuple[int, ...]]) -> RampModel:
    """Return the sum of these terms that fits best; without intercept, no work is 0 W."""
    columns = products(ramp_values(ramps, data.X), terms)
    if data.intercept:
        columns = np.hstack([columns, np.ones((len(data), 1))])
    weights = least_absolute_weights(columns, data.y)
    bias = float(weights[-1]) if data.intercept else 0.0
    return RampModel(bias, ramps, terms, weights[: len(terms)]).pruned()

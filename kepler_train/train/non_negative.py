"""Non-negative weights with the least absolute error: what rises with load, and is not led astray by a few rows."""

from __future__ import annotations

import numpy as np

from kepler_train.models.component import Matrix, Watts
from kepler_train.models.terms import Piece, TermsModel, products, values
from kepler_train.train.training_set import TrainingSet

# Times the largest value seen: how far a trend is followed beyond the data. A feature that was next to nothing in
# training, such as cache misses, can be a hundred times larger later, and no slope holds that far.
REACH = 1.5

_ROUNDS = 12
# Errors below these shares of the spread of y, or of its size, count alike: the weight of a row is finite.
_OF_SPREAD, _OF_SIZE = 0.02, 1e-3
# Of the mean square of a column: keeps the equations solvable where columns are multiples of each other.
_RIDGE = 1e-7


def non_negative(columns: Matrix, y: Watts) -> Watts:
    """Weights w ≥ 0 with the least Σ |columns·w − y|, by least squares with weights 1/|error| until they settle.

    Iteratively reweighted least squares (Schlossmacher 1973), each round by Lawson and Hanson (1974) on the normal
    equations: its cost grows with the rows, not with their square.
    """
    from scipy.optimize import nnls

    size = np.sqrt(np.mean(columns**2, axis=0))
    size[size == 0] = 1.0
    columns = columns / size
    floor = max(_OF_SPREAD * float(y.std()), _OF_SIZE * float(np.abs(y).max()), 1e-9)
    weight = np.ones(len(y))
    found = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        weighted = columns * weight[:, None]
        square = weighted.T @ columns
        square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
        lower = np.linalg.cholesky(square)
        before, (found, _) = found, nnls(lower.T, np.linalg.solve(lower, weighted.T @ y), maxiter=100 * len(square))
        if np.allclose(found, before, rtol=1e-3, atol=1e-3 * floor):
            break
        weight = 1.0 / np.maximum(np.abs(columns @ found - y), floor)
    return np.asarray(found / size, dtype=np.float64)


def largest(X: Matrix) -> Watts:
    """The largest value of each feature; 0 where it was never above."""
    return np.asarray(np.maximum(X.max(axis=0), 0.0), dtype=np.float64)


def fit_terms(data: TrainingSet, pieces: list[Piece], terms: list[tuple[int, ...]]) -> TermsModel:
    """The sum of these terms that fits best; without intercept no work is 0 W."""
    columns = products(values(pieces, data.X), terms)
    if data.intercept:
        columns = np.hstack([columns, np.ones((len(data), 1))])
    found = non_negative(columns, data.y)
    bias = float(found[-1]) if data.intercept else 0.0
    return TermsModel(bias, pieces, terms, found[: len(terms)]).needed()

"""Least squares with weights of 0 or more, for a handful of columns.

As scipy.optimize.nnls, which takes half a second of CPU and 50 MB to import: as much as all the rest of an extraction.
"""

from __future__ import annotations

import numpy as np

from kepler_train.extract.counters import Floats

_LEAST = 1e-10  # of the largest slope: below, rounding decides


def nonnegative_weights(squares: Floats, products: Floats) -> Floats:
    """The weights w ≥ 0 with the least |A·w − y|, from A'A and A'y, by the active sets of Lawson and Hanson.

    Columns that get a negative weight beside the others leave. Then they come back one at a time, the one that helps
    most first; any that would get a negative weight thereby leaves again.
    """
    free = np.ones(len(products), dtype=bool)
    weights = _fitted(squares, products, free)
    while (weights[free] <= 0).any():
        free &= weights > 0
        weights = _fitted(squares, products, free)
    enough = _LEAST * np.abs(products).max(initial=0.0)
    for _ in range(3 * len(products)):
        slopes = np.where(free, -np.inf, products - squares @ weights)
        best = int(slopes.argmax())
        if slopes[best] <= enough:
            break
        free[best] = True
        wished = _fitted(squares, products, free)
        while (wished[free] <= 0).any():
            falling = free & (wished <= 0)
            way = np.min(weights[falling] / (weights[falling] - wished[falling]))
            weights += way * (wished - weights)
            free &= weights > _LEAST * weights.max(initial=0.0)
            weights[~free] = 0.0
            wished = _fitted(squares, products, free)
        weights = wished
    return weights


def _fitted(squares: Floats, products: Floats, free: np.typing.NDArray[np.bool_]) -> Floats:
    found = np.zeros(len(products))
    found[free] = np.linalg.solve(squares if free.all() else squares[free][:, free], products[free])
    return found

"""Non-negative least squares (NNLS) for a handful of columns.

It does what scipy.optimize.nnls does, whose import takes half a second of CPU and 50 MB: as much as the whole rest of
an extraction.
"""

from __future__ import annotations

import numpy as np

from kepler_train.arrays import Bools, Floats

_LEAST = 1e-10  # of the largest slope: below, rounding decides


def nonnegative_weights(squares: Floats, products: Floats) -> Floats:
    """Return the weights w ≥ 0 with the least |A·w − y|, from A'A and A'y (Lawson and Hanson 1974).

    Columns that get a negative weight beside the others leave. Then they come back one at a time, the one that helps
    most first; any that would get a negative weight thereby leaves again.
    """
    free = np.ones(len(products), dtype=bool)
    weights = _fitted(squares, products, free)
    while (weights[free] <= 0).any():
        free &= weights > 0
        weights = _fitted(squares, products, free)
    smallest = _LEAST * np.abs(products).max(initial=0.0)
    for _ in range(3 * len(products)):
        slopes = np.where(free, -np.inf, products - squares @ weights)
        best = int(slopes.argmax())
        if slopes[best] <= smallest:
            break
        free[best] = True
        target = _fitted(squares, products, free)
        while (target[free] <= 0).any():
            falling = free & (target <= 0)
            step = np.min(weights[falling] / (weights[falling] - target[falling]))
            weights += step * (target - weights)
            free &= weights > _LEAST * weights.max(initial=0.0)
            weights[~free] = 0.0
            target = _fitted(squares, products, free)
        weights = target
    return weights


def _fitted(squares: Floats, products: Floats, free: Bools) -> Floats:
    weights = np.zeros(len(products))
    weights[free] = np.linalg.solve(squares if free.all() else squares[free][:, free], products[free])
    return weights

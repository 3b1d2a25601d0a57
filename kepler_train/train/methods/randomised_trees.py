"""Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): thresholds are random, so their mean is smooth.

scikit-learn grows them. They are kept as an XGBoost booster, whose file is plain JSON and whose graph is exact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kepler_train.models import TreesModel
from kepler_train.models.boosters import THREADS
from kepler_train.models.ubjson import encode
from kepler_train.train.methods.memoize import memoize_last
from kepler_train.train.training_set import TrainingSet

_MAX_LEAVES = 1000  # of a tree: its size does not grow with the rows


@memoize_last
def forest_of_power(data: TrainingSet, settings: Mapping[str, Any]) -> TreesModel:
    """Return the mean of randomised trees fitted to power."""
    return randomised_trees(data, settings, float(data.y.var()))


def randomised_trees(data: TrainingSet, settings: Mapping[str, Any], variance: float) -> TreesModel:
    """Return the mean of randomised trees; a split must reduce `variance` (W²) by the share `least_gain`."""
    from sklearn.ensemble import ExtraTreesRegressor

    forest = ExtraTreesRegressor(
        settings["draft"] if data.draft else settings["n_estimators"],
        min_samples_leaf=max(1, len(data) // _MAX_LEAVES),
        min_impurity_decrease=settings["least_gain"] * variance,
        random_state=data.seed,
        n_jobs=1,
    ).fit(data.X, data.y)
    return _booster([estimator.tree_ for estimator in forest.estimators_], len(data.features))


def _booster(trees: list[Any], features: int) -> TreesModel:
    """Return the trees as a booster that sums 1/count of each of them."""
    import xgboost

    # The fields of a booster change with XGBoost's version, so one of this version is filled with our trees.
    sample = xgboost.DMatrix(np.zeros((2, features)), np.zeros(2), nthread=THREADS)
    parameters = {"base_score": 0.0, "nthread": THREADS, "num_parallel_tree": len(trees)}
    booster = xgboost.train(parameters, sample, num_boost_round=1)
    content = json.loads(bytes(booster.save_raw("json")))
    model = content["learner"]["gradient_booster"]["model"]
    model["trees"] = [_tree(tree, 1.0 / len(trees), empty) for tree, empty in zip(trees, model["trees"], strict=True)]
    booster.load_model(bytearray(encode(content)))
    return TreesModel(booster)


def _tree(tree: Any, weight: float, empty: dict[str, Any]) -> dict[str, Any]:
    """Return a tree of scikit-learn (left where x ≤ threshold) as one of XGBoost (left where x < condition)."""
    order = _breadth_first(tree.children_left, tree.children_right)
    count = len(order)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    inner = tree.children_left[order] >= 0
    left, right = np.full(count, -1), np.full(count, -1)
    left[inner], right[inner] = place[tree.children_left[order][inner]], place[tree.children_right[order][inner]]
    parents = np.full(count, 2**31 - 1)  # the root has none
    parents[left[inner]] = parents[right[inner]] = np.flatnonzero(inner)
    power = tree.value[order, 0, 0] * weight
    integers = {
        "left_children": left,
        "right_children": right,
        "parents": parents,
        "split_indices": np.where(inner, tree.feature[order], 0),
        "categories": np.empty(0),
        "categories_nodes": np.empty(0),
    }
    reals = {
        "split_conditions": np.where(inner, _next_above(tree.threshold[order]), power),
        # Statistics of how the tree was grown, which no prediction reads.
        **dict.fromkeys(["base_weights", "loss_changes", "sum_hessian"], np.zeros(count)),
    }
    return (
        empty
        | {name: numbers.astype(np.int32) for name, numbers in integers.items()}
        | {name: numbers.astype(np.float32) for name, numbers in reals.items()}
        | dict.fromkeys(["default_left", "split_type"], np.zeros(count, dtype=np.uint8))
        | dict.fromkeys(["categories_segments", "categories_sizes"], np.empty(0, dtype=np.int64))
        | {"tree_param": empty["tree_param"] | {"num_nodes": str(count)}}
    )


def _breadth_first(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the nodes level by level; XGBoost expects the right child right after the left one."""
    levels = [np.array([0])]
    while len(levels[-1]):
        inner = levels[-1][left[levels[-1]] >= 0]
        levels.append(np.column_stack([left[inner], right[inner]]).ravel())
    return np.concatenate(levels)


def _next_above(threshold: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the least float32 above each threshold: x ≤ threshold is x < that, for every x in float32."""
    single = threshold.astype(np.float32)
    single = np.where(single <= threshold, np.nextafter(single, np.float32(np.inf)), single)
    return single.astype(np.float64)

"""ONNX graphs of sums of trees.

No scaler precedes them: XGBoost and scikit-learn round features to float32 before they compare them, and so does the
graph. A scaler would round differently and lead some rows to other leaves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kepler_train.models.graphs import INPUT, ML, OUTPUT, NoGraph, graph_model, make_node

if TYPE_CHECKING:
    from onnx import AttributeProto, ModelProto

# Objectives of XGBoost whose prediction is the sum of the leaves.
SUMS = {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"}


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees, one tree after the other."""

    sizes: list[int]  # nodes of each tree
    left: npt.NDArray[Any]  # child within the tree; below 0 for a leaf
    right: npt.NDArray[Any]
    feature: npt.NDArray[Any]
    threshold: npt.NDArray[Any]
    leaf: npt.NDArray[Any]  # what a leaf adds (W)
    base: float  # W
    branch: bytes  # what leads left: BRANCH_LT x < threshold, BRANCH_LEQ x ≤ threshold

    def graph(self, features: int) -> ModelProto:
        """Return the graph of the sum of the trees, not clipped."""
        tree_ids = np.repeat(np.arange(len(self.sizes)), self.sizes)
        node_ids = np.concatenate([np.arange(size) for size in self.sizes])
        leaves = self.left < 0
        ensemble = make_node("TreeEnsembleRegressor", INPUT, OUTPUT, domain=ML, n_targets=1)
        attributes = {
            "nodes_treeids": tree_ids,
            "nodes_nodeids": node_ids,
            "nodes_featureids": np.where(leaves, 0, self.feature),
            "nodes_values": np.where(leaves, np.float32(0), self.threshold),
            "nodes_modes": np.where(leaves, b"LEAF", self.branch),
            "nodes_truenodeids": np.where(leaves, 0, self.left),
            "nodes_falsenodeids": np.where(leaves, 0, self.right),
            "target_treeids": tree_ids[leaves],
            "target_nodeids": node_ids[leaves],
            "target_ids": np.zeros(leaves.sum(), dtype=np.int64),
            "target_weights": self.leaf[leaves],
            "base_values": np.array([self.base], dtype=np.float32),
        }
        ensemble.attribute.extend(_attribute(name, values) for name, values in attributes.items())
        return graph_model([ensemble], [], features)


def _attribute(name: str, values: npt.NDArray[Any]) -> AttributeProto:
    """Return an attribute of many values; `onnx.helper.make_attribute` looks at each, which takes 2.5 times as long."""
    from onnx import AttributeProto

    field = {"i": "ints", "f": "floats", "S": "strings"}[values.dtype.kind]
    content: dict[str, Any] = {field: values.tolist()}
    return AttributeProto(name=name, type=AttributeProto.AttributeType.Value(field.upper()), **content)


def booster_graph(content: bytes, features: int) -> ModelProto:
    """Return the graph of the trees in XGBoost's JSON, whose thresholds are float32."""
    learner = json.loads(content)["learner"]
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] != "gbtree" or objective not in SUMS:
        raise NoGraph(f"a booster {booster['name']} of the objective {objective} is no sum of trees")
    trees: list[dict[str, Any]] = booster["model"]["trees"]
    if any(tree["categories"] for tree in trees):
        raise NoGraph("its trees split by categories")

    def concatenated(key: str, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        return np.array([value for tree in trees for value in tree[key]], dtype=dtype)

    # XGBoost keeps the power of a leaf where an inner node has its threshold.
    conditions = concatenated("split_conditions", np.float32)
    return Trees(
        [len(tree["left_children"]) for tree in trees],
        concatenated("left_children"),
        concatenated("right_children"),
        concatenated("split_indices"),
        conditions,
        conditions,
        # `5E0` of XGBoost up to 3.0, `[5E0]` since.
        float(learner["learner_model_param"]["base_score"].strip("[]")),
        b"BRANCH_LT",
    ).graph(features)


def forest_graph(forest: Any, features: int) -> ModelProto:
    """Return the graph of the mean of a scikit-learn forest.

    Its thresholds are float64. For features of float32, each is as good as the next float32 below it.
    """
    trees = [estimator.tree_ for estimator in forest.estimators_]
    threshold = np.concatenate([tree.threshold for tree in trees])
    single = threshold.astype(np.float32)
    return Trees(
        [tree.node_count for tree in trees],
        np.concatenate([tree.children_left for tree in trees]),
        np.concatenate([tree.children_right for tree in trees]),
        np.concatenate([tree.feature for tree in trees]),
        np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single),
        np.concatenate([tree.value[:, 0, 0] for tree in trees]) / len(trees),
        0.0,
        b"BRANCH_LEQ",
    ).graph(features)

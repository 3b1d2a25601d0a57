"""ONNX graphs of sums of trees.

There is no scaler in front of them: XGBoost and scikit-learn round features to float32 before they compare them, and
so does the graph, while a scaler would round another way and lead some rows to other leaves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kepler_train.models.graphs import INPUT, ML, OUTPUT, NoGraph, graph_model

if TYPE_CHECKING:
    from onnx import AttributeProto, ModelProto

Numbers = npt.NDArray[Any]
# Objectives of XGBoost whose prediction is the sum of the leaves.
_SUMS = {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"}


@dataclass(frozen=True)
class Trees:
    """The nodes of some trees, tree after tree: where each leads, and what a leaf adds (W)."""

    sizes: list[int]  # nodes of each tree
    left: Numbers  # within the tree; below 0: a leaf
    right: Numbers
    feature: Numbers
    threshold: Numbers
    leaf: Numbers
    base: float  # W
    branch: bytes  # what leads left: BRANCH_LT x < threshold, BRANCH_LEQ x ≤ threshold

    def graph(self, features: int) -> ModelProto:
        """The sum of the trees, not clipped."""
        from onnx import helper

        number = np.repeat(np.arange(len(self.sizes)), self.sizes)
        node = np.concatenate([np.arange(size) for size in self.sizes])
        ends = self.left < 0
        ensemble = helper.make_node("TreeEnsembleRegressor", [INPUT], [OUTPUT], domain=ML, n_targets=1)
        attributes = {
            "nodes_treeids": number,
            "nodes_nodeids": node,
            "nodes_featureids": np.where(ends, 0, self.feature),
            "nodes_values": np.where(ends, np.float32(0), self.threshold),
            "nodes_modes": np.where(ends, b"LEAF", self.branch),
            "nodes_truenodeids": np.where(ends, 0, self.left),
            "nodes_falsenodeids": np.where(ends, 0, self.right),
            "target_treeids": number[ends],
            "target_nodeids": node[ends],
            "target_ids": np.zeros(ends.sum(), dtype=np.int64),
            "target_weights": self.leaf[ends],
            "base_values": np.array([self.base], dtype=np.float32),
        }
        ensemble.attribute.extend(_attribute(name, values) for name, values in attributes.items())
        return graph_model([ensemble], [], features)


def _attribute(name: str, values: Numbers) -> AttributeProto:
    """An attribute of many numbers; the library's own way looks at each of them twice."""
    from onnx import AttributeProto

    attribute = AttributeProto(name=name)
    if values.dtype.kind == "f":
        attribute.type = AttributeProto.FLOATS
        attribute.floats.extend(values.tolist())
    elif values.dtype.kind == "S":
        attribute.type = AttributeProto.STRINGS
        attribute.strings.extend(values.tolist())
    else:
        attribute.type = AttributeProto.INTS
        attribute.ints.extend(values.tolist())
    return attribute


def booster_graph(content: bytes, features: int) -> ModelProto:
    """The trees of XGBoost's JSON, whose thresholds are float32."""
    learner = json.loads(content)["learner"]
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] != "gbtree" or objective not in _SUMS:
        raise NoGraph(f"a booster {booster['name']} of the objective {objective} is no sum of trees")
    trees: list[dict[str, Any]] = booster["model"]["trees"]
    if any(tree["categories"] for tree in trees):
        raise NoGraph("its trees split by categories")

    def every(key: str, dtype: npt.DTypeLike = np.int64) -> Numbers:
        return np.array([value for tree in trees for value in tree[key]], dtype=dtype)

    # A leaf has its power where others have their threshold.
    condition = every("split_conditions", np.float32)
    return Trees(
        [len(tree["left_children"]) for tree in trees],
        every("left_children"),
        every("right_children"),
        every("split_indices"),
        condition,
        condition,
        # `5E0` of XGBoost up to 3.0, `[5E0]` since.
        float(learner["learner_model_param"]["base_score"].strip("[]")),
        b"BRANCH_LT",
    ).graph(features)


def forest_graph(forest: Any, features: int) -> ModelProto:
    """The mean of a forest of scikit-learn, whose thresholds are float64: as good as the next float32 below."""
    trees = [member.tree_ for member in forest.estimators_]
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

"""ONNX graphs of models of one component: features of a row in, watts out.

Every graph has the float32 input `X` (rows × features, 1/s) and the float32 output `power` (rows × 1, W).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xgboost
    from onnx import AttributeProto, ModelProto, NodeProto, TensorProto

INPUT, OUTPUT = "X", "power"
# Read by onnxruntime 1.12 (2022) and later.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML = "ai.onnx.ml"
# Objectives of XGBoost whose prediction is the sum of the leaves.
_SUMS = {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"}


class NoGraph(Exception):
    """Why a model cannot be written as a graph, as a part of a sentence."""


def graph_model(nodes: Sequence[NodeProto], initializers: Sequence[TensorProto], features: int) -> ModelProto:
    """A model of these nodes, which read `X` and make `power`."""
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        nodes,
        OUTPUT,
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [None, 1])],
        initializers,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="kepler-train")


def constant(name: str, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> TensorProto:
    """Numbers that nodes read by that name; indices are np.int64."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def trees_graph(booster: xgboost.Booster) -> ModelProto:
    """The sum of a booster's trees, not clipped.

    XGBoost rounds features to float32 before it compares them with float32 thresholds (left where x < threshold), and
    so does the graph: there is no scaler in front, which would round another way.
    """
    from onnx import helper

    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    trees = _plain_trees(learner)
    sizes = [len(tree["left_children"]) for tree in trees]

    def every(key: str, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        return np.concatenate([np.asarray(tree[key], dtype=dtype) for tree in trees])

    number, node = np.repeat(np.arange(len(trees)), sizes), np.concatenate([np.arange(size) for size in sizes])
    left, right = every("left_children"), every("right_children")
    leaf, condition = left < 0, every("split_conditions", np.float32)
    ensemble = helper.make_node("TreeEnsembleRegressor", [INPUT], [OUTPUT], domain=ML, n_targets=1)
    ensemble.attribute.extend(
        [
            _attribute("nodes_treeids", number),
            _attribute("nodes_nodeids", node),
            _attribute("nodes_featureids", np.where(leaf, 0, every("split_indices"))),
            _attribute("nodes_values", np.where(leaf, np.float32(0), condition)),
            _attribute("nodes_modes", np.where(leaf, b"LEAF", b"BRANCH_LT")),
            _attribute("nodes_truenodeids", np.where(leaf, 0, left)),
            _attribute("nodes_falsenodeids", np.where(leaf, 0, right)),
            _attribute("nodes_missing_value_tracks_true", np.where(leaf, 0, every("default_left"))),
            _attribute("target_treeids", number[leaf]),
            _attribute("target_nodeids", node[leaf]),
            _attribute("target_ids", np.zeros(leaf.sum(), dtype=np.int64)),
            _attribute("target_weights", condition[leaf]),
            _attribute("base_values", np.array([_base_score(learner)], dtype=np.float32)),
        ]
    )
    return graph_model([ensemble], [], booster.num_features())


def _plain_trees(learner: dict[str, Any]) -> list[dict[str, Any]]:
    """The trees of a booster whose prediction is the sum of one leaf of each."""
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] != "gbtree" or objective not in _SUMS:
        raise NoGraph(f"a booster {booster['name']} of the objective {objective} is no sum of trees")
    trees: list[dict[str, Any]] = booster["model"]["trees"]
    if any(tree["categories"] for tree in trees):
        raise NoGraph("its trees split by categories")
    return trees


def _base_score(learner: dict[str, Any]) -> float:
    """What the sum starts from: `5E0` of XGBoost up to 3.0, `[5E0]` since."""
    return float(learner["learner_model_param"]["base_score"].strip("[]"))


def _attribute(name: str, values: npt.NDArray[Any]) -> AttributeProto:
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


def estimator_graph(estimator: Any, features: int) -> ModelProto:
    """A scikit-learn regressor, or a pipeline that ends in one, not clipped."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    try:
        converted = convert_sklearn(
            estimator,
            initial_types=[(INPUT, FloatTensorType([None, features]))],
            target_opset={"": OPSET, ML: ML_OPSET},
        ).graph
    except Exception as error:  # a converter that cannot fails in its own way
        raise NoGraph(f"{type(estimator).__name__} cannot be converted: {str(error)[:200]}") from None
    return joined([graph_model(_named(converted), converted.initializer, features)], [1.0], features)


def _named(graph: Any) -> list[NodeProto]:
    """Nodes of a converted graph, with its output called as ours."""
    (output,) = (value.name for value in graph.output)
    nodes = list(graph.node)
    for node in nodes:
        node.output[:] = [OUTPUT if name == output else name for name in node.output]
        node.input[:] = [OUTPUT if name == output else name for name in node.input]
    return nodes


def clipped(model: ModelProto) -> ModelProto:
    """A graph of max(0, power)."""
    from onnx import helper

    features = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    return composed([model], [helper.make_node("Relu", ["power0"], [OUTPUT])], [], features)


def joined(
    models: Sequence[ModelProto],
    weights: Sequence[float],
    features: int,
    bias: float = 0.0,
    columns: Sequence[Sequence[int]] | None = None,
) -> ModelProto:
    """The sum bias + Σ weight · power of several graphs; `columns` are those of `X` that each of them looks at."""
    from onnx import helper

    nodes = [
        helper.make_node("Mul", [f"power{number}", f"weight{number}"], [f"part{number}"])
        for number in range(len(models))
    ]
    constants = [constant(f"weight{number}", [weight]) for number, weight in enumerate(weights)]
    nodes.append(helper.make_node("Sum", [*(f"part{number}" for number in range(len(models))), "bias"], [OUTPUT]))
    return composed(models, nodes, [*constants, constant("bias", [bias])], features, columns)


def composed(
    models: Sequence[ModelProto],
    nodes: Sequence[NodeProto],
    initializers: Sequence[TensorProto],
    features: int,
    columns: Sequence[Sequence[int]] | None = None,
) -> ModelProto:
    """Several graphs side by side, and nodes that make `power` of theirs, which are called `power0`, `power1`, ….

    The nodes may read `X` too. `columns` are those of `X` that each graph looks at; without it all look at all.
    """
    from onnx import NodeProto, TensorProto, helper

    inside: list[NodeProto] = []
    numbers: list[TensorProto] = []
    for index, model in enumerate(models):
        own = {INPUT: INPUT, OUTPUT: f"power{index}", "": ""}
        if columns is not None:
            own[INPUT] = f"X{index}"
            numbers.append(constant(f"columns{index}", columns[index], np.int64))
            inside.append(helper.make_node("Gather", [INPUT, f"columns{index}"], [f"X{index}"], axis=1))
        for tensor in model.graph.initializer:
            numbers.append(TensorProto.FromString(tensor.SerializeToString()))
            numbers[-1].name = own.setdefault(tensor.name, f"{index}/{tensor.name}")
        for node in model.graph.node:
            inside.append(NodeProto.FromString(node.SerializeToString()))
            inside[-1].name = f"{index}/{node.name}" if node.name else ""
            for names in (inside[-1].input, inside[-1].output):
                names[:] = [own.setdefault(name, f"{index}/{name}") for name in names]
    return graph_model([*inside, *nodes], [*numbers, *initializers], features)

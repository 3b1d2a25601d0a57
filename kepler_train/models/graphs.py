"""ONNX graphs of the models of one component: features of a row in, watts out.

Every graph has the float32 input `X` (rows × features, 1/s) and the float32 output `power` (rows × 1, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

INPUT, OUTPUT = "X", "power"
# Read by onnxruntime 1.12 (2022) and later.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML = "ai.onnx.ml"


class NoGraph(Exception):
    """Why a model cannot be written as a graph, as a part of a sentence."""


def graph_model(nodes: Sequence[NodeProto], initializers: Sequence[TensorProto], features: int) -> ModelProto:
    """Return a model of these nodes, which read `X` and compute `power`."""
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


def make_node(operator: str, *names: str, outputs: int = 1, **attributes: Any) -> NodeProto:
    """Return a node; of the names the last are its outputs, the others its inputs."""
    from onnx import helper

    return helper.make_node(operator, names[:-outputs], names[-outputs:], **attributes)


def constant(name: str, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> TensorProto:
    """Return numbers that nodes read by that name; indices are np.int64."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def clipped(model: ModelProto) -> ModelProto:
    """Return the graph of max(0, power)."""
    features = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    return composed([model], [make_node("Relu", "power0", OUTPUT)], [], features)


def weighted_sum(
    models: Sequence[ModelProto],
    weights: Sequence[float],
    features: int,
    bias: float = 0.0,
    columns: Sequence[Sequence[int]] | None = None,
) -> ModelProto:
    """Return the graph of bias + Σ weight · power; `columns` are those of `X` that each model reads."""
    # 0 for every row, so that a sum of no models has a value per row too.
    nodes = [make_node("MatMul", INPUT, "zeros", "nothing")]
    constants = [constant("zeros", np.zeros((features, 1))), constant("bias", [bias])]
    for number, weight in enumerate(weights):
        nodes.append(make_node("Mul", f"power{number}", f"weight{number}", f"part{number}"))
        constants.append(constant(f"weight{number}", [weight]))
    nodes.append(make_node("Sum", *(f"part{number}" for number in range(len(weights))), "nothing", "bias", OUTPUT))
    return composed(models, nodes, constants, features, columns)


def composed(
    models: Sequence[ModelProto],
    nodes: Sequence[NodeProto],
    initializers: Sequence[TensorProto],
    features: int,
    columns: Sequence[Sequence[int]] | None = None,
) -> ModelProto:
    """Return several graphs side by side, and `nodes` that compute `power` from their `power0`, `power1`, ….

    The nodes may read `X` too. `columns` are those of `X` that each graph reads; without it, all read all.
    """
    from onnx import NodeProto, TensorProto

    inner_nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    for index, model in enumerate(models):
        renamed = {INPUT: INPUT, OUTPUT: f"power{index}", "": ""}
        if columns is not None:
            renamed[INPUT] = f"X{index}"
            constants.append(constant(f"columns{index}", columns[index], np.int64))
            inner_nodes.append(make_node("Gather", INPUT, f"columns{index}", f"X{index}", axis=1))
        for tensor in model.graph.initializer:
            constants.append(TensorProto.FromString(tensor.SerializeToString()))
            constants[-1].name = renamed.setdefault(tensor.name, f"{index}/{tensor.name}")
        for original in model.graph.node:
            inner_nodes.append(NodeProto.FromString(original.SerializeToString()))
            inner_nodes[-1].name = f"{index}/{original.name}" if original.name else ""
            for names in (inner_nodes[-1].input, inner_nodes[-1].output):
                names[:] = [renamed.setdefault(name, f"{index}/{name}") for name in names]
    return graph_model([*inner_nodes, *nodes], [*constants, *initializers], features)

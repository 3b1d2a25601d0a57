"""ONNX graphs of models of one component: features of a row in, watts out.

Every graph has the float32 input `X` (rows × features, 1/s) and the float32 output `power` (rows × 1, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

    # 0 for every row, so that a sum of nothing has as many rows as any.
    nodes = [helper.make_node("MatMul", [INPUT, "zeros"], ["nothing"])]
    constants = [constant("zeros", np.zeros((features, 1))), constant("bias", [bias])]
    for number, weight in enumerate(weights):
        nodes.append(helper.make_node("Mul", [f"power{number}", f"weight{number}"], [f"part{number}"]))
        constants.append(constant(f"weight{number}", [weight]))
    parts = [f"part{number}" for number in range(len(weights))]
    nodes.append(helper.make_node("Sum", [*parts, "nothing", "bias"], [OUTPUT]))
    return composed(models, nodes, constants, features, columns)


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

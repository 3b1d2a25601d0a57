"""ONNX graphs of scikit-learn estimators.

The steps that our trainers use are written here, all others by skl2onnx. Measured on 2,400 rows (CPU time, skl2onnx
against ours): nearest rows take 43 times as long to convert and 19 times to run, support vectors 57 and 2 times,
polynomials 17 and 1.3 times, forests 10 and 1 times. Computing in float64 leaves only the rounding of `X` and `power`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kepler_train.models import graphs
from kepler_train.models.graphs import INPUT, ML, ML_OPSET, OPSET, OUTPUT, NoGraph
from kepler_train.models.tree_graphs import forest_graph

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto


class GraphBuilder:
    """Nodes and constants of a graph; every method adds to them and returns the name of the result."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        output = f"{operator}{len(self.nodes)}"
        self.nodes.append(graphs.make_node(operator, *inputs, output, **attributes))
        return output

    def constant(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> str:
        """Add a constant."""
        self.constants.append(graphs.constant(f"number{len(self.constants)}", values, dtype))
        return self.constants[-1].name

    def cast(self, name: str, dtype: npt.DTypeLike) -> str:
        """Convert numbers to another type."""
        from onnx import helper

        return self.node("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def estimator_graph(estimator: Any, features: int) -> ModelProto:
    """Return the graph of a regressor, or of a pipeline that ends in one, not clipped."""
    if type(estimator).__name__ in ("ExtraTreesRegressor", "RandomForestRegressor"):
        return forest_graph(estimator, features)
    steps: Sequence[Any] = [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    builder = GraphBuilder()
    name = builder.cast(INPUT, np.float64)
    for step in steps:
        add = _STEPS.get(type(step).__name__)
        if add is None:
            return _converted(estimator, features)
        name = add(builder, step, name)
    builder.nodes.append(graphs.make_node("Cast", name, OUTPUT, to=1))
    return graphs.graph_model(builder.nodes, builder.constants, features)


def _scaled(builder: GraphBuilder, scaler: Any, name: str) -> str:
    return builder.node("Div", name, builder.constant(scaler.scale_))


def _polynomial(builder: GraphBuilder, step: Any, name: str) -> str:
    """Add products of as many columns as the degree; a missing factor is a column of ones."""
    degree, columns = int(step.powers_.sum(axis=1).max()), step.n_features_in_
    padded = builder.node("Pad", name, builder.constant([0, 0, 0, 1], np.int64), builder.constant(1.0))
    factors = [
        np.pad(np.repeat(np.arange(columns), powers), (0, degree - powers.sum()), constant_values=columns)
        for powers in step.powers_
    ]
    first, *others = [
        builder.node("Gather", padded, builder.constant(chosen, np.int64), axis=1) for chosen in np.transpose(factors)
    ]
    product = first
    for factor in others:
        product = builder.node("Mul", product, factor)
    return product


def _linear(builder: GraphBuilder, regression: Any, name: str) -> str:
    total = builder.node("MatMul", name, builder.constant(np.reshape(regression.coef_, (-1, 1))))
    return builder.node("Add", total, builder.constant(np.reshape(regression.intercept_, (1,))))


def _nearest_neighbors(builder: GraphBuilder, neighbors: Any, name: str) -> str:
    """Add the mean power of the k rows t with the least |x − t|² = |x|² + |t|² − 2·x·t; |x|² changes no order."""
    if neighbors.weights != "uniform" or neighbors.effective_metric_ != "euclidean":
        raise NoGraph("only the plain mean of the nearest rows can be drawn")
    rows = neighbors._fit_X
    products = builder.node("MatMul", name, builder.constant(-2 * rows.T))
    distances = builder.node("Add", products, builder.constant(np.square(rows).sum(axis=1)))
    count = builder.constant([neighbors.n_neighbors], np.int64)
    values = f"values{len(builder.nodes)}"
    builder.nodes.append(graphs.make_node("TopK", distances, count, values, "rows", outputs=2, largest=0, sorted=0))
    return builder.node("ReduceMean", builder.node("Gather", builder.constant(neighbors._y), "rows"), axes=[1])


def _support_vectors(builder: GraphBuilder, svr: Any, name: str) -> str:
    """Add Σ weight · e^(−γ·|x − v|²) + intercept over the support vectors v.

    The exponentials are taken in float32, where onnxruntime computes several at once.
    """
    if svr.kernel != "rbf":
        raise NoGraph("only a radial kernel can be drawn")
    gamma, vectors = svr._gamma, svr.support_vectors_
    squares = builder.node("ReduceSumSquare", name, axes=[1])
    products = builder.node("MatMul", name, builder.constant(2 * gamma * vectors.T))
    row_part = builder.node("Mul", squares, builder.constant(gamma))
    difference = builder.node("Sub", products, row_part)
    exponent = builder.node("Sub", difference, builder.constant(gamma * np.square(vectors).sum(axis=1)))
    kernel = builder.node("Exp", builder.cast(exponent, np.float32))
    total = builder.node("MatMul", kernel, builder.constant(svr.dual_coef_.T, np.float32))
    return builder.node("Add", total, builder.constant(svr.intercept_, np.float32))


_STEPS: dict[str, Callable[[GraphBuilder, Any, str], str]] = {
    "KNeighborsRegressor": _nearest_neighbors,
    "LinearRegression": _linear,
    "MaxAbsScaler": _scaled,
    "PolynomialFeatures": _polynomial,
    "SGDRegressor": _linear,
    "SVR": _support_vectors,
}


def _converted(estimator: Any, features: int) -> ModelProto:
    """Return the graph by skl2onnx, with its output renamed to ours."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    try:
        graph = convert_sklearn(
            estimator,
            initial_types=[(INPUT, FloatTensorType([None, features]))],
            target_opset={"": OPSET, ML: ML_OPSET},
        ).graph
    except Exception as error:  # a converter that cannot fails in its own way
        raise NoGraph(f"{type(estimator).__name__} cannot be converted: {str(error)[:200]}") from None
    (output,) = (value.name for value in graph.output)
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [OUTPUT if name == output else name for name in names]
    return graphs.weighted_sum([graphs.graph_model(graph.node, graph.initializer, features)], [1.0], features)

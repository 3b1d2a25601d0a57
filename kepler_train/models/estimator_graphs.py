"""ONNX graphs of scikit-learn estimators.

The steps that our trainers use are drawn here: converted by skl2onnx, nearest rows and support vectors take several
times as long to run. They compute in float64, so that only the rounding of `X` and `power` is left. All other
estimators are converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kepler_train.models.graphs import INPUT, ML, ML_OPSET, OPSET, OUTPUT, NoGraph, constant, graph_model, joined
from kepler_train.models.tree_graphs import forest_graph

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto


class Drawing:
    """Nodes and numbers, drawn one after the other."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.numbers: list[TensorProto] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; answers the name of its (last) output."""
        from onnx import helper

        outputs = [f"{kind}{len(self.nodes)}"] if kind != "TopK" else [f"values{len(self.nodes)}", "rows"]
        self.nodes.append(helper.make_node(kind, list(inputs), outputs, **attributes))
        return outputs[-1]

    def number(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> str:
        """Add a constant; answers its name."""
        self.numbers.append(constant(f"number{len(self.numbers)}", values, dtype))
        return self.numbers[-1].name

    def cast(self, name: str, dtype: npt.DTypeLike) -> str:
        """The same numbers in another type."""
        from onnx import helper

        return self.node("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def estimator_graph(estimator: Any, features: int) -> ModelProto:
    """A regressor, or a pipeline that ends in one, not clipped."""
    from onnx import helper

    if type(estimator).__name__ in ("ExtraTreesRegressor", "RandomForestRegressor"):
        return forest_graph(estimator, features)
    steps: Sequence[Any] = [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    draw = [_STEPS.get(type(step).__name__) for step in steps]
    drawing = Drawing()
    name = drawing.cast(INPUT, np.float64)
    for step, add in zip(steps, draw, strict=True):
        if add is None:
            return _converted(estimator, features)
        name = add(drawing, step, name)
    drawing.nodes.append(helper.make_node("Cast", [name], [OUTPUT], to=1))
    return graph_model(drawing.nodes, drawing.numbers, features)


def _scaled(drawing: Drawing, scaler: Any, name: str) -> str:
    return drawing.node("Div", name, drawing.number(scaler.scale_))


def _products(drawing: Drawing, step: Any, name: str) -> str:
    """Products of as many columns as the degree says; a factor that a product has not is a column of ones."""
    degree, columns = int(step.powers_.sum(axis=1).max()), step.n_features_in_
    padded = drawing.node("Pad", name, drawing.number([0, 0, 0, 1], np.int64), drawing.number(1.0))
    factors = [
        np.pad(np.repeat(np.arange(columns), powers), (0, degree - powers.sum()), constant_values=columns)
        for powers in step.powers_
    ]
    found = [
        drawing.node("Gather", padded, drawing.number(chosen, np.int64), axis=1) for chosen in np.transpose(factors)
    ]
    product = found[0]
    for factor in found[1:]:
        product = drawing.node("Mul", product, factor)
    return product


def _line(drawing: Drawing, line: Any, name: str) -> str:
    total = drawing.node("MatMul", name, drawing.number(np.reshape(line.coef_, (-1, 1))))
    return drawing.node("Add", total, drawing.number(np.reshape(line.intercept_, (1,))))


def _nearest(drawing: Drawing, nearest: Any, name: str) -> str:
    """Mean power of the k rows with the least |x − t|² = |x|² + |t|² − 2·x·t, of which |x|² changes no order."""
    if nearest.weights != "uniform" or nearest.effective_metric_ != "euclidean":
        raise NoGraph("only the plain mean of the nearest rows can be drawn")
    rows = nearest._fit_X
    products = drawing.node("MatMul", name, drawing.number(-2 * rows.T))
    distances = drawing.node("Add", products, drawing.number(np.square(rows).sum(axis=1)))
    chosen = drawing.node("TopK", distances, drawing.number([nearest.n_neighbors], np.int64), largest=0, sorted=0)
    return drawing.node("ReduceMean", drawing.node("Gather", drawing.number(nearest._y), chosen), axes=[1])


def _surface(drawing: Drawing, surface: Any, name: str) -> str:
    """Power = Σ weight · e^(−γ·|x − v|²) + intercept over the support vectors v.

    The exponentials are taken in float32, where onnxruntime computes several at once.
    """
    if surface.kernel != "rbf":
        raise NoGraph("only a radial kernel can be drawn")
    gamma, vectors = surface._gamma, surface.support_vectors_
    squares = drawing.node("ReduceSumSquare", name, axes=[1])
    products = drawing.node("MatMul", name, drawing.number(2 * gamma * vectors.T))
    own = drawing.node("Mul", squares, drawing.number(gamma))
    away = drawing.node(
        "Sub", drawing.node("Sub", products, own), drawing.number(gamma * np.square(vectors).sum(axis=1))
    )
    near = drawing.node("Exp", drawing.cast(away, np.float32))
    total = drawing.node("MatMul", near, drawing.number(surface.dual_coef_.T, np.float32))
    return drawing.node("Add", total, drawing.number(surface.intercept_, np.float32))


_STEPS: dict[str, Callable[[Drawing, Any, str], str]] = {
    "KNeighborsRegressor": _nearest,
    "LinearRegression": _line,
    "MaxAbsScaler": _scaled,
    "PolynomialFeatures": _products,
    "SGDRegressor": _line,
    "SVR": _surface,
}


def _converted(estimator: Any, features: int) -> ModelProto:
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
        node.output[:] = [OUTPUT if name == output else name for name in node.output]
        node.input[:] = [OUTPUT if name == output else name for name in node.input]
    return joined([graph_model(graph.node, graph.initializer, features)], [1.0], features)

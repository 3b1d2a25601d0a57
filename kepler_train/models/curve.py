"""Curves over one feature, as Kepler reads them. With x the feature divided by its scale, in W.

| law | power | parameters, in the order of Kepler's file |
|---|---|---|
| logarithmic | a·ln(b·x + 1) + c | a, b, c |
| logistic | A/(1 + e^(−k·(x − x0))) + off | A, x0, k, off |
| exponential | a·e^(b·x) + c | a, b, c |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel, Matrix, ModelClass, Vector, Watts
from kepler_train.models.files import read_object
from kepler_train.models.graphs import INPUT, OUTPUT, constant, graph_model, make_node
from kepler_train.models.numbers import SMALLEST_SCALE, number, vector
from kepler_train.strict_json import shown

if TYPE_CHECKING:
    from onnx import ModelProto

CurveLaw = Literal["logarithmic", "logistic", "exponential"]
# What the graph calls the parameters: power = a · shape(x) + c. Kepler panics at another number of parameters.
PARAMETERS: dict[CurveLaw, tuple[str, ...]] = {
    "logarithmic": ("a", "b", "c"),
    "logistic": ("a", "x0", "k", "c"),
    "exponential": ("a", "b", "c"),
}
# Operators of the graph of each shape, with their inputs and output.
_SHAPES: dict[CurveLaw, list[tuple[str, ...]]] = {
    "logarithmic": [("Mul", "b", "x", "bx"), ("Add", "bx", "one", "inside"), ("Log", "inside", "shape")],
    "logistic": [("Sub", "x", "x0", "beyond"), ("Mul", "k", "beyond", "kx"), ("Sigmoid", "kx", "shape")],
    "exponential": [("Mul", "b", "x", "bx"), ("Exp", "bx", "shape")],
}
# e^600 is a float64, and far from any power; e^710 is infinite.
_MAX_EXPONENT = 600.0


@dataclass(frozen=True)
class CurveModel(ComponentModel):
    """A law, its parameters, and the scale (1/s) of its one feature."""

    law: CurveLaw
    parameters: tuple[float, ...]
    scale: float

    kind: ClassVar[str] = "curve"
    model_class: ClassVar[ModelClass] = "curvefit"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return np.maximum(_power(self.law, self.parameters, X[:, 0] / self.scale), 0.0)

    def content(self) -> bytes:
        """Return law, parameters and scale as JSON."""
        content = {"law": self.law, "parameters": list(self.parameters), "scale": self.scale}
        return json.dumps(content, allow_nan=False, indent=1).encode()

    @classmethod
    def read(cls, content: bytes, where: object, features: int) -> CurveModel:
        """Return the curve of a file's content; refuse more than one feature."""
        entries = read_object(content, where)
        if features != 1:
            raise UserError(f"{where} is a curve over one feature, not over {features}.")
        try:
            law = entries.get("law")
            if law not in list(PARAMETERS):
                raise ValueError(f"{shown(law)} is no law")
            parameters = vector(entries.get("parameters"), len(PARAMETERS[law]))
            return cls(law, tuple(parameters.tolist()), number(entries.get("scale"), least=SMALLEST_SCALE))
        except ValueError as error:
            raise UserError(f"{where} is not a curve: {error}.") from None

    def weights(self, features: list[str]) -> dict[str, Any]:
        """Return the component's entry in Kepler's weight file."""
        return {
            "All_Weights": {
                "Categorical_Variables": {},
                "Numerical_Variables": {features[0]: {"scale": self.scale}},
                "CurveFit_Weights": list(self.parameters),
            }
        }

    def graph(self, features: int) -> ModelProto:
        """Return the formula of the law, at least 0 W: float32 may round a little below."""
        numbers = dict(zip(PARAMETERS[self.law], self.parameters, strict=True)) | {"scale": self.scale}
        if self.law == "logarithmic":
            numbers["one"] = 1.0
        nodes = [
            make_node("Div", INPUT, "scale", "x"),
            *(make_node(*names) for names in _SHAPES[self.law]),
            make_node("Mul", "a", "shape", "rise"),
            make_node("Add", "rise", "c", "watts"),
            make_node("Relu", "watts", OUTPUT),
        ]
        return graph_model(nodes, [constant(name, [value]) for name, value in numbers.items()], features)


def _power(law: CurveLaw, parameters: tuple[float, ...], x: Vector) -> Watts:
    if law == "logistic":
        height, midpoint, steepness, offset = parameters
        exponent = np.minimum(-steepness * (x - midpoint), _MAX_EXPONENT)
        return np.asarray(height / (1 + np.exp(exponent)) + offset)
    a, b, c = parameters
    if law == "logarithmic":
        return np.asarray(a * np.log(b * x + 1) + c)
    return np.asarray(a * np.exp(np.minimum(b * x, _MAX_EXPONENT)) + c)

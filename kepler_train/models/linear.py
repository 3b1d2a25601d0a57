"""Linear model: power = bias + Σ weight · (x / scale), in W. Kepler reads its weights directly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel, Matrix, ModelClass, Vector, Watts
from kepler_train.models.files import read_object
from kepler_train.models.graphs import INPUT, OUTPUT, constant, graph_model, make_node
from kepler_train.models.numbers import SMALLEST_SCALE, number, vector

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class LinearModel(ComponentModel):
    """Bias (W), and for each feature its weight (W) and scale (1/s)."""

    bias: float
    weight: Vector
    scale: Vector

    kind: ClassVar[str] = "linear"
    model_class: ClassVar[ModelClass] = "scikit"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return self.bias + (X / self.scale) @ self.weight

    def content(self) -> bytes:
        """Return bias, weights and scales as JSON."""
        content = {"bias": self.bias, "weight": self.weight.tolist(), "scale": self.scale.tolist()}
        return json.dumps(content, allow_nan=False, indent=1).encode()

    @classmethod
    def read(cls, content: bytes, where: object, features: int) -> LinearModel:
        """Return the model of a file's content."""
        entries = read_object(content, where)
        try:
            return cls(
                number(entries.get("bias")),
                vector(entries.get("weight"), features),
                vector(entries.get("scale"), features, least=SMALLEST_SCALE),
            )
        except ValueError as error:
            raise UserError(f"{where} is not a linear model of {features} features: {error}.") from None

    def weights(self, features: list[str]) -> dict[str, Any] | None:
        """Return the component's entry in Kepler's weight file; None where a power below 0 W is possible."""
        if self.bias < 0 or (self.weight < 0).any():
            return None
        numerical = {
            feature: {"scale": float(scale), "weight": float(weight)}
            for feature, scale, weight in zip(features, self.scale, self.weight, strict=True)
        }
        entry = {"Bias_Weight": float(self.bias), "Categorical_Variables": {}, "Numerical_Variables": numerical}
        return {"All_Weights": entry}

    def graph(self, features: int) -> ModelProto:
        """Return the same formula; scaled first, so that no product leaves the range of float32."""
        nodes = [
            make_node("Div", INPUT, "scale", "scaled"),
            make_node("MatMul", "scaled", "weight", "sum"),
            make_node("Add", "sum", "bias", OUTPUT),
        ]
        numbers = [
            constant("scale", self.scale),
            constant("weight", self.weight[:, None]),
            constant("bias", [self.bias]),
        ]
        return graph_model(nodes, numbers, features)

"""Linear model: power = bias + Σ weight · (x / scale), in W. Kepler reads its weights directly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel, Matrix, ModelClass, Vector, Watts
from kepler_train.models.graphs import INPUT, OUTPUT, constant, graph_model, make_node

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

    def save(self, file: Path) -> None:
        """Write bias, weights and scales as JSON."""
        content = {"bias": self.bias, "weight": self.weight.tolist(), "scale": self.scale.tolist()}
        file.write_text(json.dumps(content, allow_nan=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, file: Path, features: int) -> LinearModel:
        """Return the model that `save` wrote."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            model = cls(float(content["bias"]), np.array(content["weight"], float), np.array(content["scale"], float))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{file} is not a linear model: {error}.") from None
        numbers = np.concatenate([[model.bias], model.weight.ravel(), model.scale.ravel()])
        if model.weight.shape != (features,) or model.scale.shape != (features,) or not np.isfinite(numbers).all():
            raise UserError(f"{file} is not a linear model of {features} features.")
        return model

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

"""Linear model: power = bias + Σ weight · (x / scale), in W. Its file is Kepler's own weight entry."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import Matrix, ModelClass, Watts

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class LinearModel:
    """Bias (W), and for each feature its weight (W) and scale (1/s)."""

    bias: float
    weight: Watts
    scale: Watts

    kind: ClassVar[str] = "linear"
    suffix: ClassVar[str] = ".json"
    model_class: ClassVar[ModelClass] = "scikit"

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""
        return self.bias + (X / self.scale) @ self.weight

    def save(self, file: Path) -> None:
        """Write bias, weights and scales as JSON."""
        content = {"bias": self.bias, "weight": self.weight.tolist(), "scale": self.scale.tolist()}
        file.write_text(json.dumps(content, allow_nan=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, file: Path, features: int) -> LinearModel:
        """Read what `save` wrote for so many features."""
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
        """The entry of Kepler's weight file for this component; None where a power below 0 W is possible."""
        if self.bias < 0 or (self.weight < 0).any():
            return None
        numerical = {
            feature: {"scale": float(scale), "weight": float(weight)}
            for feature, scale, weight in zip(features, self.scale, self.weight, strict=True)
        }
        return {
            "All_Weights": {
                "Bias_Weight": float(self.bias),
                "Categorical_Variables": {},
                "Numerical_Variables": numerical,
            }
        }

    def graph(self, features: int) -> ModelProto:
        """The same formula; scaled first, so that no product leaves the range of float32."""
        from onnx import helper

        nodes = [
            helper.make_node("Div", [graphs.INPUT, "scale"], ["scaled"]),
            helper.make_node("MatMul", ["scaled", "weight"], ["sum"]),
            helper.make_node("Add", ["sum", "bias"], [graphs.OUTPUT]),
        ]
        numbers = [
            graphs.constant("scale", self.scale),
            graphs.constant("weight", self.weight[:, None]),
            graphs.constant("bias", [self.bias]),
        ]
        return graphs.graph_model(nodes, numbers, features)

"""Weighted sum of models: power = max(0, bias + Σ weight · power of a part), in W."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import Matrix, ModelClass, Watts
from kepler_train.models.files import read_json, write_json
from kepler_train.models.parts import Part, read_parts

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class BlendModel:
    """Parts over the same features, and a bias (W)."""

    parts: Sequence[Part]
    bias: float = 0.0

    kind: ClassVar[str] = "blend"
    suffix: ClassVar[str] = ".json"
    model_class: ClassVar[ModelClass] = "kepler-train"

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""
        total = np.full(len(X), self.bias)
        for part in self.parts:
            total += part.weight * part.predict(X)
        return np.asarray(np.maximum(total, 0.0), dtype=np.float64)

    def save(self, file: Path) -> None:
        """Write the parts into one file of JSON."""
        write_json(file, {"bias": self.bias, "parts": [part.written() for part in self.parts]})

    @classmethod
    def load(cls, file: Path, features: int) -> BlendModel:
        """Read what `save` wrote for so many features."""
        content = read_json(file)
        model = cls(read_parts(content, file, features), float(content.get("bias", 0.0)))
        if not np.isfinite([model.bias, *(part.weight for part in model.parts)]).all():
            raise UserError(f"{file} is not a sum of models: a weight is not a number.")
        return model

    def weights(self, features: list[str]) -> None:
        """Kepler has no such model."""

    def graph(self, features: int) -> ModelProto:
        """The graphs of the parts side by side, and nothing below 0 W."""
        inside = [part.model.graph(len(part.columns)) for part in self.parts]
        weights, columns = [part.weight for part in self.parts], [part.columns for part in self.parts]
        return graphs.clipped(graphs.joined(inside, weights, features, self.bias, columns))

"""Mean of the middle predictions of several models, row by row: one that runs away beyond the data has no say there."""

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
class MiddleModel:
    """Trimmed mean: of each row's predictions (W), the lowest and the highest `aside` are set aside."""

    parts: Sequence[Part]
    aside: int

    kind: ClassVar[str] = "middle"
    suffix: ClassVar[str] = ".json"
    model_class: ClassVar[ModelClass] = "kepler-train"

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""
        every = np.sort([part.predict(X) for part in self.parts], axis=0)
        return np.asarray(every[self.aside : len(every) - self.aside].mean(axis=0), dtype=np.float64)

    def save(self, file: Path) -> None:
        """Write the parts into one file of JSON."""
        write_json(file, {"aside": self.aside, "parts": [part.written() for part in self.parts]})

    @classmethod
    def load(cls, file: Path, features: int) -> MiddleModel:
        """Read what `save` wrote for so many features."""
        content = read_json(file)
        model = cls(read_parts(content, file, features), int(content.get("aside", -1)))
        if not 0 <= 2 * model.aside < len(model.parts):
            raise UserError(f"{file} is not a mean of models: it sets aside as many as there are.")
        return model

    def weights(self, features: list[str]) -> None:
        """Kepler has no such model."""

    def graph(self, features: int) -> ModelProto:
        """The graphs of the parts side by side, sorted row by row."""
        from onnx import helper

        count = len(self.parts)
        nodes = [
            helper.make_node("Concat", [f"power{number}" for number in range(count)], ["every"], axis=1),
            helper.make_node("TopK", ["every", "but the lowest"], ["sorted", "order"], axis=1, largest=1, sorted=1),
            helper.make_node("Slice", ["sorted", "first", "last", "axis"], ["middle"]),
            helper.make_node("ReduceMean", ["middle"], [graphs.OUTPUT], axes=[1], keepdims=1),
        ]
        numbers = [
            graphs.constant("but the lowest", [count - self.aside], np.int64),
            graphs.constant("first", [self.aside], np.int64),
            graphs.constant("last", [count - self.aside], np.int64),
            graphs.constant("axis", [1], np.int64),
        ]
        inside = [part.model.graph(len(part.columns)) for part in self.parts]
        return graphs.composed(inside, nodes, numbers, features, [part.columns for part in self.parts])

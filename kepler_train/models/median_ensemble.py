"""Median, or trimmed mean, of the predictions of several models (W).

Row by row the extremes are dropped, so a member that runs away beyond its training data has no influence there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import ComponentModel, Matrix, Watts
from kepler_train.models.files import read_json, write_json
from kepler_train.models.graphs import constant, node
from kepler_train.models.member import Member, read_members

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class MedianEnsemble(ComponentModel):
    """Mean of each row's predictions without the `trim` lowest and highest: the median where one or two are left."""

    members: Sequence[Member]
    trim: int

    kind: ClassVar[str] = "middle"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        predictions = np.sort([member.predict(X) for member in self.members], axis=0)
        return np.asarray(predictions[self.trim : len(predictions) - self.trim].mean(axis=0), dtype=np.float64)

    def save(self, file: Path) -> None:
        """Write trim and members as JSON."""
        write_json(file, {"aside": self.trim, "parts": [member.as_dict() for member in self.members]})

    @classmethod
    def load(cls, file: Path, features: int) -> MedianEnsemble:
        """Return the ensemble that `save` wrote."""
        content = read_json(file)
        model = cls(read_members(content, file, features), int(content.get("aside", -1)))
        if not 0 <= 2 * model.trim < len(model.members):
            raise UserError(f"{file} is not a mean of models: it sets aside as many as there are.")
        return model

    def graph(self, features: int) -> ModelProto:
        """Return the members' graphs side by side, their predictions sorted row by row and trimmed."""
        count = len(self.members)
        nodes = [
            node("Concat", *(f"power{number}" for number in range(count)), "every", axis=1),
            node("TopK", "every", "but the lowest", "sorted", "order", outputs=2, axis=1, largest=1, sorted=1),
            node("Slice", "sorted", "first", "last", "axis", "middle"),
            node("ReduceMean", "middle", graphs.OUTPUT, axes=[1], keepdims=1),
        ]
        numbers = [
            constant("but the lowest", [count - self.trim], np.int64),
            constant("first", [self.trim], np.int64),
            constant("last", [count - self.trim], np.int64),
            constant("axis", [1], np.int64),
        ]
        inner = [member.model.graph(len(member.columns)) for member in self.members]
        return graphs.composed(inner, nodes, numbers, features, [member.columns for member in self.members])

"""Weighted sum of models: power = max(0, bias + Σ weight · power of a member), in W."""

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
from kepler_train.models.member import Member, read_members

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class SumEnsemble(ComponentModel):
    """Members with their weights, and a bias (W)."""

    members: Sequence[Member]
    bias: float = 0.0

    kind: ClassVar[str] = "blend"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        total = np.full(len(X), self.bias)
        for member in self.members:
            total += member.weight * member.predict(X)
        return np.asarray(np.maximum(total, 0.0), dtype=np.float64)

    def save(self, file: Path) -> None:
        """Write bias and members as JSON."""
        write_json(file, {"bias": self.bias, "parts": [member.as_dict() for member in self.members]})

    @classmethod
    def load(cls, file: Path, features: int) -> SumEnsemble:
        """Return the ensemble that `save` wrote."""
        content = read_json(file)
        model = cls(read_members(content, file, features), float(content.get("bias", 0.0)))
        if not np.isfinite([model.bias, *(member.weight for member in model.members)]).all():
            raise UserError(f"{file} is not a sum of models: a weight is not a number.")
        return model

    def graph(self, features: int) -> ModelProto:
        """Return the members' graphs side by side with their weighted sum, at least 0 W."""
        inner = [member.model.graph(len(member.columns)) for member in self.members]
        weights, columns = [member.weight for member in self.members], [member.columns for member in self.members]
        return graphs.clipped(graphs.weighted_sum(inner, weights, features, self.bias, columns))

"""Ensembles: models that combine the predictions (W) of others, which are inside their file.

| ensemble | power |
|---|---|
| `SumEnsemble` | max(0, bias + Σ weight · power of a member) |
| `MedianEnsemble` | median, or trimmed mean, of the members row by row: one that runs away has no influence there |
"""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import ComponentModel, Matrix, Watts
from kepler_train.models.files import read_json, write_json
from kepler_train.models.fitted import SubsetModel
from kepler_train.models.graphs import constant, make_node
from kepler_train.models.kinds import ENSEMBLES, load_component

if TYPE_CHECKING:
    from onnx import ModelProto

_MAX_DEPTH = 3  # of ensembles inside ensembles: a file cannot nest without end
_MAX_BYTES = 256 * 2**20  # of a member's file


@dataclass(frozen=True)
class Member(SubsetModel):
    """A model, the columns it reads, and its weight where the ensemble is a sum."""

    weight: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return the member for the JSON of its ensemble. Its file is inside, compressed: a forest has megabytes."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, f"part{self.model.suffix}")
            self.model.save(file)
            content = base64.b64encode(zlib.compress(file.read_bytes())).decode()
        return {"kind": self.model.kind, "weight": self.weight, "columns": list(self.columns), "content": content}


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
            make_node("Concat", *(f"power{number}" for number in range(count)), "every", axis=1),
            make_node("TopK", "every", "but the lowest", "sorted", "order", outputs=2, axis=1, largest=1, sorted=1),
            make_node("Slice", "sorted", "first", "last", "axis", "middle"),
            make_node("ReduceMean", "middle", graphs.OUTPUT, axes=[1], keepdims=1),
        ]
        numbers = [
            constant("but the lowest", [count - self.trim], np.int64),
            constant("first", [self.trim], np.int64),
            constant("last", [count - self.trim], np.int64),
            constant("axis", [1], np.int64),
        ]
        inner = [member.model.graph(len(member.columns)) for member in self.members]
        return graphs.composed(inner, nodes, numbers, features, [member.columns for member in self.members])


def read_members(content: dict[str, Any], file: Path, features: int) -> list[Member]:
    """Return the members in the content of an ensemble's file; refuse anything else in one sentence."""
    try:
        _check_depth(content, _MAX_DEPTH)
        members = [_read_member(entry, features) for entry in content["parts"]]
        if not members:
            raise ValueError("it has none")
    except (KeyError, TypeError, ValueError, RecursionError, zlib.error) as error:
        raise UserError(f"{file} is not made of models: {error}.") from None
    return members


def _read_member(entry: dict[str, Any], features: int) -> Member:
    columns = tuple(int(column) for column in entry["columns"])
    if any(not 0 <= column < features for column in columns):
        raise ValueError(f"a part looks at other columns than the {features} there are")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "part.json")  # XGBoost goes by the suffix; no other kind looks at it
        file.write_bytes(_unpacked(entry))
        model = load_component(str(entry["kind"]), file, len(columns))
    return Member(columns, model, float(entry["weight"]))


def _check_depth(content: dict[str, Any], depth: int) -> None:
    for entry in content["parts"]:
        if entry["kind"] in ENSEMBLES:
            if depth == 1:
                raise ValueError("its parts have parts too deep")
            _check_depth(json.loads(_unpacked(entry)), depth - 1)


def _unpacked(entry: dict[str, Any]) -> bytes:
    """Return the file inside a member; refuse one that would unpack to more than any of ours."""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(base64.b64decode(entry["content"], validate=True), _MAX_BYTES)
    if not unpacking.eof:
        raise ValueError("a part is cut short or too large")
    return content

"""Ensembles: models that combine the predictions (W) of others, which are inside their file.

| ensemble | power |
|---|---|
| `SumEnsemble` | max(0, bias + Σ weight · power of a member) |
| `MedianEnsemble` | median, or trimmed mean, of the members row by row: one that runs away has no influence there |
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import ComponentModel, Matrix, Watts
from kepler_train.models.files import MOST_BYTES, json_bytes, read_object
from kepler_train.models.fitted import SubsetModel
from kepler_train.models.graphs import constant, make_node
from kepler_train.models.kinds import ENSEMBLES, read_component
from kepler_train.models.numbers import number, whole

if TYPE_CHECKING:
    from onnx import ModelProto

_MAX_DEPTH = 3  # of ensembles inside ensembles: a file cannot nest without end
_MAX_MEMBERS = 200  # with those inside members; `auto` has 9, some of which have 2


@dataclass(frozen=True)
class Member(SubsetModel):
    """A model, the columns it reads, and its weight where the ensemble is a sum."""

    weight: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return the member for the JSON of its ensemble. Its file is inside, compressed: a forest has megabytes."""
        content = base64.b64encode(zlib.compress(self.model.content())).decode()
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

    def content(self) -> bytes:
        """Return bias and members as JSON."""
        return json_bytes({"bias": self.bias, "parts": [member.as_dict() for member in self.members]})

    @classmethod
    def read(cls, content: bytes, where: object, features: int) -> SumEnsemble:
        """Return the ensemble of a file's content."""
        entries = read_object(content, where)
        members = read_members(entries, where, features)
        try:
            return cls(members, number(entries.get("bias")))
        except ValueError as error:
            raise UserError(f"{where} is not a sum of models: {error}.") from None

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

    def content(self) -> bytes:
        """Return trim and members as JSON."""
        return json_bytes({"aside": self.trim, "parts": [member.as_dict() for member in self.members]})

    @classmethod
    def read(cls, content: bytes, where: object, features: int) -> MedianEnsemble:
        """Return the ensemble of a file's content."""
        entries = read_object(content, where)
        members = read_members(entries, where, features)
        try:
            return cls(members, whole(entries.get("aside"), 0, (len(members) - 1) // 2))
        except ValueError as error:
            raise UserError(f"{where} is not a mean of models: {error}.") from None

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


def read_members(entries: dict[str, Any], where: object, features: int) -> list[Member]:
    """Return the members in an ensemble's entries; refuse anything else in one sentence."""
    try:
        contents = _unpacked_members(entries, _MAX_DEPTH, _Room())
        return [
            _read_member(entry, content, where, features)
            for entry, content in zip(entries["parts"], contents, strict=True)
        ]
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise UserError(f"{where} is not made of models: {reason}.") from None


def _read_member(entry: dict[str, Any], content: bytes, where: object, features: int) -> Member:
    columns = tuple(entry["columns"])
    if not columns or any(type(column) is not int or not 0 <= column < features for column in columns):
        raise ValueError(f"a part looks at none or other columns than the {features} there are")
    model = read_component(entry["kind"], content, f"A part of {where}", len(columns))
    return Member(columns, model, number(entry["weight"]))


@dataclass
class _Room:
    """What the members of an ensemble may still take, with those inside of them."""

    members: int = _MAX_MEMBERS
    bytes: int = MOST_BYTES


def _unpacked_members(entries: dict[str, Any], depth: int, room: _Room) -> list[bytes]:
    """Return the files of all members; refuse more, larger ones or deeper ensembles than ours before one is read."""
    members = entries["parts"]
    if type(members) is not list or not 0 < len(members) <= room.members:
        raise ValueError(f"it has no parts, or more than {_MAX_MEMBERS} in all")
    room.members -= len(members)
    contents = []
    for entry in members:
        content = _unpacked(entry, room.bytes)
        room.bytes -= len(content)
        contents.append(content)
        if entry["kind"] in ENSEMBLES:
            if depth == 1:
                raise ValueError("its parts have parts too deep")
            _unpacked_members(read_object(content, "A part"), depth - 1, room)
    return contents


def _unpacked(entry: dict[str, Any], most: int) -> bytes:
    """Return the file inside a member; refuse one that would unpack to more than `most` bytes."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(entry["content"], validate=True), max(most, 1))
    except zlib.error as error:
        raise ValueError(f"a part cannot be unpacked: {error}") from None
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("a part is cut short or too large")
    return content

"""Models that are parts of another one: how they are written into its file, and read from it."""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel, Matrix, Watts
from kepler_train.models.kinds import load_component
from kepler_train.models.narrow import NarrowModel

# Kinds that have parts; a part has none deeper than this, so a file cannot nest without end.
_NESTING = ("blend", "middle")
_DEPTH = 3
_LARGEST = 256 * 2**20  # bytes of a part


@dataclass(frozen=True)
class Part:
    """A model and the columns that it looks at, with a weight where the whole is a sum."""

    columns: tuple[int, ...]
    model: ComponentModel
    weight: float = 1.0

    @classmethod
    def of(cls, model: ComponentModel | NarrowModel, features: int) -> Part:
        """A model as a trainer gave it for so many features."""
        if isinstance(model, NarrowModel):
            return cls(model.columns, model.model)
        return cls(tuple(range(features)), model)

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row, without the weight."""
        return self.model.predict(X[:, self.columns])

    def written(self) -> dict[str, Any]:
        """The part as JSON, with its own file inside, compressed: that of a forest is megabytes of digits."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, f"part{self.model.suffix}")
            self.model.save(file)
            content = base64.b64encode(zlib.compress(file.read_bytes())).decode()
        return {"kind": self.model.kind, "weight": self.weight, "columns": list(self.columns), "content": content}


def read_parts(content: dict[str, Any], file: Path, features: int) -> list[Part]:
    """The parts in the content of a model's file; anything that is none is refused in one sentence."""
    try:
        _check_depth(content, _DEPTH)
        parts = [_read(part, features) for part in content["parts"]]
        if not parts:
            raise ValueError("it has none")
    except (KeyError, TypeError, ValueError, RecursionError, zlib.error) as error:
        raise UserError(f"{file} is not made of models: {error}.") from None
    return parts


def _read(part: dict[str, Any], features: int) -> Part:
    columns = tuple(int(column) for column in part["columns"])
    if any(not 0 <= column < features for column in columns):
        raise ValueError(f"a part looks at other columns than the {features} there are")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "part.json")  # XGBoost goes by the suffix; no other kind looks at it
        file.write_bytes(_content(part))
        model = load_component(str(part["kind"]), file, len(columns))
    return Part(columns, model, float(part["weight"]))


def _check_depth(content: dict[str, Any], left: int) -> None:
    for part in content["parts"]:
        if part["kind"] in _NESTING:
            if left == 1:
                raise ValueError("its parts have parts too deep")
            _check_depth(json.loads(_content(part)), left - 1)


def _content(part: dict[str, Any]) -> bytes:
    """The file inside a part; one that would become larger than any of ours is not unpacked."""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(base64.b64decode(part["content"], validate=True), _LARGEST)
    if not unpacking.eof:
        raise ValueError("a part is cut short or too large")
    return content

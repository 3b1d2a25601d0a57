"""Members of an ensemble: models inside the file of another one."""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kepler_train.errors import UserError
from kepler_train.models.fitted import SubsetModel
from kepler_train.models.kinds import ENSEMBLES, load_component

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

"""Names of the files in a model's folder, and JSON in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kepler_train import strict_json
from kepler_train.errors import UserError

METADATA, WEIGHTS, GRAPH = "metadata.json", "weight.json", ".onnx"
DETAILS = "details.json"  # the objects of the metadata, where other readers of them bear none


# Of one file. The largest of ours have 4 MB and half a million numbers.
MOST_BYTES, MOST_VALUES = 64 * 2**20, 6_000_000


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """Return JSON with an entry to a line, and with numbers that are numbers everywhere: no NaN.

    A line for every number would take ten times as long, and no person reads a hull.
    """
    lines = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in content.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write an object to a file of a model."""
    file.write_bytes(json_bytes(content))


def read_bytes(file: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file of a model; refuse one that is missing, no file, or larger than any of ours."""
    if not file.is_file():
        raise UserError(f"{file.parent} is not the folder of a model: {file.name} is missing.")
    if file.stat().st_size > most:
        raise UserError(f"{file} is larger than {most:,} bytes, which no file of a model is.")
    return file.read_bytes()


def read_json(file: Path) -> dict[str, Any]:
    """Read an object from a file of a model."""
    content = strict_json.read(read_bytes(file), file)
    if not isinstance(content, dict):
        raise UserError(f"{file.parent} is not the folder of a model: {file.name} is something else.")
    return content


def read_object(content: bytes, where: object) -> dict[str, Any]:
    """Return the object in the file of a component."""
    read = strict_json.read(content, where, most_bytes=MOST_BYTES)
    if not isinstance(read, dict):
        raise UserError(f"{where} is something else than the object of a model.")
    return read

"""Names of the files in a model's folder, and JSON in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kepler_train.errors import UserError

METADATA, WEIGHTS, GRAPH = "metadata.json", "weight.json", ".onnx"
DETAILS = "details.json"  # the objects of the metadata, where other readers of them bear none


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write an entry to a line, with numbers that are numbers everywhere: no NaN.

    A line for every number would take ten times as long, and no person reads a hull.
    """
    lines = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in content.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_json(file: Path) -> dict[str, Any]:
    """Read an object from a file of a model."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{file.parent} is not the folder of a model: {file.name} is missing.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is cut short or not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise UserError(f"{file.parent} is not the folder of a model: {file.name} is something else.")
    return content

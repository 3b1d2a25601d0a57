"""`<machine id>.json`: a machine spec as kepler-model-server keeps it, with our own keys beside its."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kepler_train import strict_json
from kepler_train.errors import UserError, first_problem
from kepler_train.machine.node_attributes import WEIGHTS
from kepler_train.machine.spec import MachineSpec


def machine_text(machine: MachineSpec) -> str:
    """Return the JSON text: the five attributes below `attrs`, where other tools look for them, the rest beside it."""
    attributes = machine.attributes()
    more = {name: value for name, value in machine.model_dump(exclude_none=True).items() if name not in attributes}
    return json.dumps({"attrs": attributes, "members": []} | more, indent=2) + "\n"


def read_machine(path: Path) -> MachineSpec:
    """Return the machine spec of a file, with or without `attrs` around its attributes."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"There is no machine spec at {path}: `kepler-train machine -o` writes one.") from None
    except OSError as error:
        raise UserError(f"The machine spec {path} cannot be read: {error.strerror}.") from None
    content = strict_json.read(text, f"The machine spec {path}")
    try:
        return MachineSpec.model_validate(_flat(content, path))
    except ValidationError as error:
        raise UserError(f"{path} is not a machine spec: {': '.join(first_problem(error))}.") from None


def _flat(content: Any, path: Path) -> dict[str, Any]:
    attributes = content.get("attrs", content) if isinstance(content, dict) else None
    if not isinstance(attributes, dict) or not attributes.keys() & WEIGHTS.keys():
        raise UserError(f"{path} is not a machine spec: it has none of {', '.join(WEIGHTS)}, below `attrs` or without.")
    return {**content, **attributes}

"""The machines that a run learns from, by node, as a file beside the samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import RootModel

from kepler_train.machine.spec import MachineSpec
from kepler_train.records import read_record
from kepler_train.workspace import files_of

MACHINES = "machines.json"
ANY_NODE = ""
"""The name for a machine, profile or phase that is not of one node but of all."""


class _Machines(RootModel[dict[str, MachineSpec]]):
    """The content of such a file."""


def write_machines(folder: Path, machines: Mapping[str, MachineSpec]) -> None:
    """Write the machines of a query beside its samples."""
    content = {node: machine.model_dump(exclude_none=True) for node, machine in machines.items()}
    (folder / MACHINES).write_text(json.dumps(content, indent=1), encoding="utf-8")


def read_machines(folder: Path) -> dict[str, MachineSpec]:
    """Return the machines in a folder, or in those of its parts; nothing where a query wrote none."""
    machines: dict[str, MachineSpec] = {}
    for file in files_of(folder, MACHINES):
        machines |= read_record(_Machines, file.read_bytes(), str(file)).root
    return machines


def common_machine(machines: Mapping[str, MachineSpec], nodes: Iterable[str]) -> MachineSpec | None:
    """Return the machine that all these nodes are; None where they differ or one is not known."""
    kinds = {machines.get(node, machines.get(ANY_NODE)) for node in nodes}
    return kinds.pop() if len(kinds) == 1 else None

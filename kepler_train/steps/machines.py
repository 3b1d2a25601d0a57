"""The machine that a run learns from, by node: described where it was stressed, else by its exporters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from kepler_train.collect.machine import MachineSpec
from kepler_train.collect.schedule import Schedule
from kepler_train.errors import DataError
from kepler_train.events import warn
from kepler_train.spec import RunSpec
from kepler_train.workspace import files_of

MACHINES = "machines.json"
ANY_NODE = ""


def exported_machines(spec: RunSpec) -> dict[str, MachineSpec]:
    """The machine of each node of a run as its exporters describe it at the end of the window."""
    # The HTTP client takes a tenth of a second, and most steps only read what was kept.
    from kepler_train.collect.machine_query import machines_at
    from kepler_train.collect.prometheus import Prometheus

    found = machines_at(Prometheus(spec.prometheus), spec.window[1].timestamp(), spec.metric_prefix)
    return {node: machine for node, machine in found.items() if not spec.nodes or node in spec.nodes}


def measured_machines(spec: RunSpec, schedule: Schedule) -> dict[str, MachineSpec]:
    """What is known of the machine of each node; never the machine that asks.

    The machine that a stress run describes is that of its nodes, or of all when it names none.
    """
    try:
        found = exported_machines(spec)
    except DataError as error:
        warn(str(error))
        found = {}
    if schedule.machine:
        stressed = {phase.node for phase in schedule.phases} - {ANY_NODE} or set(found) or {ANY_NODE}
        found |= dict.fromkeys(stressed, schedule.machine)
    return found


def write_machines(folder: Path, machines: Mapping[str, MachineSpec]) -> None:
    """Keep the machines of a query beside its samples."""
    content = {node: machine.model_dump(exclude_none=True) for node, machine in machines.items()}
    (folder / MACHINES).write_text(json.dumps(content, indent=1), encoding="utf-8")


def read_machines(folder: Path) -> dict[str, MachineSpec]:
    """The machines that were kept in a folder, or in those of parts; none where a query kept none."""
    content = [json.loads(file.read_text(encoding="utf-8")) for file in files_of(folder, MACHINES)]
    return {node: MachineSpec.model_validate(machine) for own in content for node, machine in own.items()}


def common_machine(machines: Mapping[str, MachineSpec], nodes: Iterable[str]) -> MachineSpec | None:
    """The machine that all these nodes are; None where they differ or one is not known."""
    kinds = {machines.get(node, machines.get(ANY_NODE)) for node in nodes}
    return kinds.pop() if len(kinds) == 1 else None

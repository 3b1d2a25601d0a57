"""`kepler-train machine`: what was measured, and its node type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import alone_beside, data_path, named, whole_file
from kepler_train.cli.parameters import given, takes
from kepler_train.errors import UserError, unknown_name
from kepler_train.events import say, warn

if TYPE_CHECKING:
    from kepler_train.machine.node_types import Match, NodeTypeIndex
    from kepler_train.machine.spec import MachineSpec


@takes("machine_id", prometheus="", metric_prefix="")
def machine(
    context: typer.Context,
    node: Annotated[str, typer.Option(help="Node whose machine is meant, with --server.")] = "",
    time: Annotated[str, typer.Option(help="When, with --server, as 2026-11-14T02:00:00Z; now by default.")] = "",
    spec_file: Annotated[str, typer.Option("-i", "--input", help="Machine spec that was written before.")] = "",
    output: Annotated[str, typer.Option("-o", "--output", help="Other file for the spec, below DATAPATH.")] = "",
    node_types: Annotated[str, typer.Option(help="Look the machine up in this node_type_index.json.")] = "",
    add: Annotated[bool, typer.Option("--add", help="Make the machine a member of its node type there.")] = False,
) -> None:
    """Describe this machine, or with --server those behind a Prometheus, and find its node type.

    The spec of a machine that --id names goes to <id>.json.
    """
    options = given(context)
    server, machine_id = options["prometheus"], options["machine_id"]
    if bool(server) + bool(spec_file) > 1:
        raise UserError("--server and --input name two machines: choose one.")
    if (node or time or options["metric_prefix"]) and not server:
        raise UserError("--node, --time and --metric-prefix belong to --server: give its address.")
    if add and not (machine_id and node_types):
        raise UserError("--add needs the machine's name and the index: give --id and --node-types.")
    asked = o.spec_of(options, end=time)
    if server:
        moment = asked.end.timestamp() if asked.end else None
        machines = _behind(asked.prometheus, node, moment, asked.metric_prefix)
    else:
        machines = {machine_id or Path(spec_file).stem: _here(spec_file)}
    if len(machines) > 1 and (machine_id or output):
        raise UserError(f"{asked.prometheus} has {len(machines)} nodes: choose one with --node: {', '.join(machines)}.")
    for name, spec in machines.items():
        _show(name, spec)
        if node_types and not add:
            _look_up(data_path(node_types), spec)
        if (output or machine_id) and not _is_input(named(output or machine_id, ".json"), spec_file):
            write_machine(named(output or machine_id, ".json"), spec)
        if add:
            _add(data_path(node_types), machine_id, spec)


def _is_input(place: Path, spec_file: str) -> bool:
    """Return whether the spec would be written to the file that it was read from."""
    return bool(spec_file) and place.exists() and place.samefile(named(spec_file, ".json"))


def _here(spec_file: str) -> MachineSpec:
    from kepler_train.machine.spec import this_machine
    from kepler_train.machine.spec_file import read_machine

    return read_machine(named(spec_file, ".json")) if spec_file else this_machine()


def _behind(address: str, node: str, moment: float | None, prefix: str) -> dict[str, MachineSpec]:
    import time

    from kepler_train.query.machines import machines_at
    from kepler_train.query.prometheus import Prometheus

    machines = machines_at(Prometheus(address, typed=True), time.time() if moment is None else moment, prefix)
    if node and node not in machines:
        raise UserError(unknown_name("node", node, machines))
    return {node: machines[node]} if node else machines


def _show(name: str, machine: MachineSpec) -> None:
    parts = [
        machine.processor,
        machine.cores and f"{machine.cores} CPUs",
        machine.chips and f"{machine.chips} {'chip' if machine.chips == 1 else 'chips'}",
        machine.memory and f"{machine.memory} GiB",
        machine.frequency and f"{machine.frequency} MHz",
        machine.kernel and f"Linux {machine.kernel}",
        machine.virtualization and f"virtualization {machine.virtualization}",
        machine.kepler_version and f"Kepler {machine.kepler_version}",
    ]
    say(f"{name or 'This machine'}: {', '.join(part for part in parts if part)}", machine=machine.model_dump())
    if machine.unknown():
        warn(f"Not known of {name or 'this machine'}: {', '.join(machine.unknown())}.", unknown=machine.unknown())


def write_machine(file: Path, machine: MachineSpec) -> None:
    """Write a machine spec, in the place of an earlier one if there is one, never of anything else."""
    from kepler_train.machine.spec_file import machine_text, read_machine

    def is_machine(earlier: Path) -> bool:
        try:
            read_machine(earlier)
        except UserError:
            return False
        return True

    with whole_file(file, is_machine) as whole:
        whole.write_text(machine_text(machine), encoding="utf-8")
    say(f"Wrote {file}.")


def _look_up(file: Path, machine: MachineSpec) -> None:
    index = _read(file)
    match = index.look_up(machine)
    if match is None:
        say(f"{file} has no node types yet: --add begins with this machine.")
    else:
        fields = {"uncertainty": round(match.uncertainty, 4), "looseness": round(match.looseness, 4)}
        say(_in_words(match), node_type=match.number, exact=match.exact, **fields)


def _in_words(match: Match) -> str:
    how_sure = f"uncertainty {match.uncertainty:.2f}, looseness {match.looseness:.2f}"
    if match.exact:
        return f"Node type {match.number}: exact, all attributes are equal."
    if match.ignored:
        return f"Node type {match.number}: the most similar, {how_sure}; it differs in {', '.join(match.ignored)}."
    return f"Node type {match.number}: agrees with all that is known, {how_sure}."


def _add(file: Path, machine_id: str, machine: MachineSpec) -> None:
    file = file.resolve()  # a link to an index stays a link
    with alone_beside(file):
        index = _read(file, begin=True)
        joined, number = index.add(machine_id, machine)
        if joined == index:
            say(f"{machine_id} is already a member of node type {number} in {file}.", node_type=number)
            return
        with whole_file(file, lambda _: True) as whole:  # what was read is in it
            whole.write_text(joined.text(), encoding="utf-8")
    kind = "node type" if number in index.types else "the new node type"
    say(f"Added {machine_id} to {kind} {number} in {file}.", node_type=number)


def _read(file: Path, begin: bool = False) -> NodeTypeIndex:
    from kepler_train.machine.node_types import NodeTypeIndex

    index = NodeTypeIndex.empty() if begin and not file.exists() else NodeTypeIndex.read(file)
    if gaps := index.gaps():
        more = max(index.types) + 1 - len(index.types) - len(gaps)
        and_more = f" and {more:,} more" if more else ""
        warn(f"{file} has no node type {', '.join(map(str, gaps))}{and_more}: the numbers of the others stay.")
    return index

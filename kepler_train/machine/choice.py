"""The node type of a run: found by what its machine is, or as asked for, and checked against the pipeline's index."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.events import warn
from kepler_train.machine.by_node import common_machine, read_machines
from kepler_train.machine.node_attributes import NodeAttributes
from kepler_train.machine.node_types import NODE_TYPES, NodeType, NodeTypeIndex
from kepler_train.machine.spec import MachineSpec
from kepler_train.records import Record, read_record
from kepler_train.spec import RunSpec

NODE_TYPE = "node_type.json"
"""The file in which a run keeps its node type, beside isolated rows."""
# Without these two, machines cannot be told apart; exporters often do not know memory or clock.
_NEEDED = ("processor", "cores")


class RunNodeType(Record):
    """The node type of a run: its number, what is known of its machine, and the names of its machines."""

    number: int
    attrs: NodeAttributes
    members: list[str]

    @property
    def entry(self) -> NodeType:
        """Return the entry of the type in an index that knows nothing else."""
        return NodeType(attrs=self.attrs, members=self.members)

    def settled(self, spec: RunSpec) -> RunSpec:
        """Return the spec with the number of its node type."""
        return spec.model_copy(update={"node_type": self.number})

    def write(self, folder: Path) -> None:
        """Keep it in a folder."""
        (folder / NODE_TYPE).write_text(json.dumps(self.model_dump(), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> RunNodeType:
        """Return what was kept in a folder."""
        file = folder / NODE_TYPE
        return read_record(cls, file.read_bytes(), str(file))


def node_type_of(plan: Path, measured: Path, nodes: Collection[str], spec: RunSpec) -> RunNodeType:
    """Return the node type of a run: `plan` keeps the pipeline's index, `measured` the machines of the nodes."""
    index = NodeTypeIndex.read(plan / NODE_TYPES) if (plan / NODE_TYPES).is_file() else NodeTypeIndex.empty()
    if len(nodes) > 1 and not spec.nodes and spec.node_type is None:
        raise unnamed_nodes(nodes)
    machines = read_machines(measured)
    return choose_node_type(index, {node: common_machine(machines, [node]) for node in sorted(nodes)}, spec)


def unnamed_nodes(nodes: Collection[str]) -> UserError:
    """Return the error of data of several nodes, none of which the user has named."""
    return UserError(
        f"The data hold {len(nodes)} nodes ({', '.join(sorted(nodes))}): name those that are of one type and may share"
        " a model in nodes."
    )


def choose_node_type(index: NodeTypeIndex, machines: Mapping[str, MachineSpec | None], spec: RunSpec) -> RunNodeType:
    """Return the node type of the machines of a run, by node.

    1. The number that the spec names, unless the index has another machine under it.
    2. Else the type whose attributes all equal the machine's.
    3. Else the type that has the machine as a member by its name and differs in nothing that is known of both.
    4. Else the next number, for a machine whose spec is known, or for one that `own_node_type` lets in without.
    """
    members = [spec.machine_id] if spec.machine_id else [node for node in machines if node]
    known = _common(machines, spec)
    if spec.node_type is not None:
        _check_number(index, spec.node_type, known, members, spec.pipeline)
        return RunNodeType(number=spec.node_type, attrs=known, members=members)
    number = index.exact(known)
    if number is None:
        number = index.of_member(members, known)
    if number is None:
        _check_known(known, members, spec)
        number = index.next_number
    return RunNodeType(number=number, attrs=known, members=members)


def _common(machines: Mapping[str, MachineSpec | None], spec: RunSpec) -> NodeAttributes:
    """Return the attributes that all machines of a run have; machines that differ share no model."""
    kinds = {
        node: NodeAttributes.model_validate(machine.attributes()) if machine else None
        for node, machine in machines.items()
    }
    if len(set(kinds.values())) > 1:
        described = "; ".join(f"{node} {describe(kind)}" for node, kind in kinds.items())
        if spec.node_type is None:
            raise UserError(
                f"The nodes of the run are not machines of one type, and share no model ({described}): name those of"
                " one type in nodes, or say by node_type that they are of one."
            )
        warn(f"Node type {spec.node_type} is given to machines that differ: {described}.")
        return NodeAttributes()
    return next(iter(kinds.values()), None) or NodeAttributes()


def describe(machine: NodeAttributes | None) -> str:
    """Return what is known of a machine, in words."""
    known = machine.attributes() if machine else {}
    return ", ".join(f"{name} {value}" for name, value in known.items() if value) or "is not known"


def _check_number(
    index: NodeTypeIndex, number: int, machine: NodeAttributes, members: Iterable[str], pipeline: str
) -> None:
    """Refuse a number under which the index has another machine, or a machine that has another number."""
    name = ", ".join(members) or "the machine"
    kind, equal = index.types.get(number), index.exact(machine)
    if kind and (differing := machine.contradicting(kind.attrs)):
        theirs, ours = (
            ", ".join(f"{attribute} {of.attributes()[attribute]}" for attribute in differing)
            for of in (kind.attrs, machine)
        )
        raise UserError(
            f"Node type {number} of {pipeline} is of machines with {theirs}, and {name} has {ours}: leave node_type"
            " empty, and the number is found."
        )
    if equal is not None and equal != number:
        raise UserError(
            f"{name} is of node type {equal} of {pipeline}, not of {number}: leave node_type empty, or name {equal}."
        )


def _check_known(machine: NodeAttributes, members: list[str], spec: RunSpec) -> None:
    """Refuse a machine of which too little is known, unless it may have a type of its own by its name."""
    name, unknown = ", ".join(members), machine.unknown()
    lacking = [attribute for attribute in _NEEDED if attribute in unknown]
    if not lacking:
        if unknown:
            warn(
                f"{name or 'The machine'}: {', '.join(unknown)} not known. Its node type is shared only with machines"
                " of which the same is known."
            )
        return
    if not spec.own_node_type:
        raise UserError(
            f"The machine {name or 'of the data'} is not known, so neither is its node type: name its spec by --id"
            f" (`kepler-train machine --id {spec.machine_id or 'NAME'}` writes it), or a number by node_type, or let"
            " own_node_type keep it under a type of its own."
        )
    if not members:
        raise UserError("A machine that gets a node type of its own is known by its name: give one by --id.")

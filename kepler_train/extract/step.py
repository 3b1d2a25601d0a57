"""Extract: counters of one query to training frames, of one node at a time."""

from __future__ import annotations

from pathlib import Path

from kepler_train.errors import DataError
from kepler_train.extract.write_frames import extract_samples
from kepler_train.machine.by_node import ANY_NODE, read_machines, write_machines
from kepler_train.samples.schedule import run_schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.outcome import VERDICT, Verdict
from kepler_train.workspace import Figures, Inputs, name_of


def extract(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the frames of the node that the part names, or of all nodes in the query."""
    nodes = [name_of(inputs.part)] if inputs.part else []
    for node in nodes:
        _check_usable(node, inputs.folder("validate") / VERDICT)
    machines = read_machines(inputs.folder("query"))
    write_machines(
        out, {name: machine for name, machine in machines.items() if not nodes or name in (*nodes, ANY_NODE)}
    )
    return extract_samples(inputs.folder("query"), spec, run_schedule(inputs), out, nodes)


def _check_usable(node: str, verdict: Path) -> None:
    """Refuse a node from which nothing can be learnt: the others go on without it."""
    if sentence := Verdict.read(verdict).unusable(node):
        raise DataError(sentence)

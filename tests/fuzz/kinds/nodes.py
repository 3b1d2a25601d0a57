"""Node types and machine specs: the machine is looked up in the index, and added to it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from fuzz.case import Case
from fuzz.commands import command
from fuzz.json_mutations import mutate_json

_INDEX, _MACHINE = "node_type_index.json", "machine.json"
_ATTRIBUTES = {"processor": "intel_xeon_platinum_8259cl", "cores": 96, "chips": 2, "memory": 377, "frequency": 3500}
_OTHER = {"processor": "amd_epyc_7571", "cores": 64, "chips": 1, "memory": 503, "frequency": 2900}


def seeds(folder: Path) -> list[Case]:
    """Return an index of two types, and a machine in both layouts."""
    return [Case(form, json.dumps(document).encode()) for form, document in _documents()]


def _documents() -> list[tuple[str, object]]:
    index = {"0": {"attrs": _ATTRIBUTES, "members": ["m1", "m2"]}, "2": {"attrs": _OTHER, "members": [], "note": "x"}}
    more = {"vendor": "genuineintel", "threads_per_core": 2, "kernel": "6.1.0", "virtualization": "kvm"}
    nested = {"attrs": _ATTRIBUTES, "members": []} | more
    return [(_INDEX, index), (_INDEX, {}), (_INDEX, index), (_MACHINE, nested), (_MACHINE, _OTHER | more)]


def mutate(case: Case, random: Random) -> Case:
    """Return a changed file."""
    return Case(case.form, mutate_json(case.content, random))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Look the machine up, add it, and look again."""
    usual = dict(reversed(_documents()))
    for form in (_INDEX, _MACHINE):
        (work / form).write_bytes(case.content if form == case.form else json.dumps(usual[form]).encode())
    command("machine", "-i", _MACHINE, "--node-types", _INDEX)
    command("machine", "-i", _MACHINE, "--node-types", _INDEX, "--id", "m3", "--add")
    command("machine", "-i", "m3", "--node-types", _INDEX)

"""The loads that a machine can be put under: stressors of stress-ng, ordinary commands, Kubernetes Jobs, and idle."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kepler_train.errors import UserError, unknown_name
from kepler_train.samples.schedule import IDLE

STRESS_NG = "stress-ng"
KUBECTL = "kubectl"

_OPTION = r"[a-z0-9][a-z0-9-]*"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
# What the schedule itself decides, and where its own option is.
_OURS = {"timeout": "--timeout", "taskset": "--instances", "yaml": "--output", "metrics-brief": "--output"}


@dataclass(frozen=True)
class Load:
    """What runs in a phase: `name` is its label in all later evaluation."""

    name: str
    kind: Literal["idle", "stress-ng", "command", "job"]
    arguments: tuple[str, ...] = ()
    """More options of stress-ng, the whole command, or the file of the Job."""


IDLE_LOAD = Load(IDLE, "idle")


def parse_load(text: str) -> Load:
    """Return a stressor from the Tekton form of STRESS_ARGS: `load;extra key;extra value`, more pairs if needed.

    >>> parse_load("vm-rw;vm-rw-bytes;4G").arguments
    ('--vm-rw-bytes', '4G')
    """
    name, *extra = (part.strip() for part in text.split(";"))
    keys, values = extra[::2], extra[1::2]
    arguments: list[str] = []
    if len(keys) != len(values) or not re.fullmatch(_OPTION, name):
        raise UserError(f"The load {text!r} is not of the form load;extra key;extra value: none where not applicable.")
    for key, value in zip(keys, values, strict=True):
        if key == "none":
            continue
        if not re.fullmatch(_OPTION, key) or not value or value.startswith("-"):
            raise UserError(f"The load {text!r} gives {key!r} the value {value!r}: write an option of stress-ng.")
        if key in _OURS:
            raise UserError(f"The load {text!r} sets {key}, which is the schedule's: use {_OURS[key]}.")
        # Options of stress-ng itself write files and read jobs, and getopt knows them by their first letters too.
        if not key.startswith(f"{name}-"):
            raise UserError(f"The load {text!r} sets {key}, which is no option of {name}: those begin with {name}-.")
        arguments += [f"--{key}"] if value == "none" else [f"--{key}", value]
    if name == IDLE:
        return IDLE_LOAD
    return Load(name, "stress-ng", tuple(arguments))


def read_loads(file: Path) -> list[Load]:
    """Return the loads of a file, one per line; empty lines and those that start with # are left out."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The list of loads {file} cannot be read: {error}.") from None
    loads = [parse_load(line) for line in lines if line and not line.startswith("#")]
    if not loads:
        raise UserError(f"The list of loads {file} is empty: write one load per line.")
    return loads


def parse_command(text: str) -> Load:
    """Return a command as a load: `name=program argument …`, quoted as in a shell but run without one.

    >>> parse_command("build=make -j 4 'all of it'")
    Load(name='build', kind='command', arguments=('make', '-j', '4', 'all of it'))
    """
    named = re.match(rf"({_NAME})=", text)
    try:
        words = shlex.split(text[named.end() :] if named else text)
    except ValueError as error:
        raise UserError(f"The command {text!r} cannot be read: {error}.") from None
    if not words:
        raise UserError(f"The command {text!r} is empty: write name=program argument.")
    return Load(_label(named[1] if named else Path(words[0]).name, text), "command", tuple(words))


def parse_job(text: str) -> Load:
    """Return a Kubernetes Job as a load: `file.yaml` or `name=file.yaml`; without a name the file's is taken."""
    named = re.match(rf"({_NAME})=", text)
    file = Path(text[named.end() :] if named else text).expanduser()
    if not file.is_file():
        raise UserError(f"There is no Job {file}: give the YAML or JSON file of a Kubernetes Job.")
    return Load(_label(named[1] if named else file.stem, text), "job", (str(file),))


def _label(name: str, text: str) -> str:
    if not re.fullmatch(_NAME, name) or name == IDLE:
        raise UserError(f"{text!r} needs another name: write name=… before it, with letters, digits, dots and dashes.")
    return name


def check_programs(loads: Iterable[Load]) -> None:
    """Refuse loads whose program is not installed."""
    for load in loads:
        program = _program(load)
        if program and shutil.which(program) is None:
            package = f"the package {program}" if program in (STRESS_NG, KUBECTL) else "it, or give its whole path"
            raise UserError(f"There is no program {program!r} for the load {load.name}: install {package}.")


def unavailable_loads(loads: Iterable[Load]) -> dict[Load, str]:
    """Return the loads that cannot run on this machine, with the reason in one sentence."""
    stressors: set[str] | None = None
    reasons: dict[Load, str] = {}
    for load in loads:
        program = _program(load)
        if program and shutil.which(program) is None:
            reasons[load] = f"There is no program {program!r} on this machine."
        elif load.kind == "stress-ng":
            stressors = _stressors() if stressors is None else stressors
            if load.name not in stressors:
                reasons[load] = unknown_name("load of this stress-ng", load.name, sorted(stressors))
    return reasons


def _program(load: Load) -> str:
    if load.kind == "command":
        return load.arguments[0]
    return {"stress-ng": STRESS_NG, "job": KUBECTL}.get(load.kind, "")


def _stressors() -> set[str]:
    try:
        listing = subprocess.run([STRESS_NG, "--stressors"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"stress-ng does not say which loads it has: {error}.") from None
    return set(listing.stdout.split())

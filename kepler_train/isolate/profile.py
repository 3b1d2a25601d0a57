"""The background profile of a node type: power and usage of a machine on which nothing but its services run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.isolate.containers import pod_of
from kepler_train.isolate.idle import IdleSource
from kepler_train.machine.spec import MachineSpec
from kepler_train.spec import Time

# Where a workspace, or DATAPATH, keeps profiles.
PROFILES = "profiles"


class IdlePower(BaseModel):
    """Power of one component at idle (W): mean, median, and standard deviation of single windows."""

    model_config = ConfigDict(frozen=True)

    mean: float
    median: float
    deviation: float


class BackgroundProfile(BaseModel):
    """Power and usage of one machine of a node type when it is idle, and the containers that run on it then.

    `power` is by column of the frames (`<source>/<component>_power`); `usage` and `containers` are mean rates (1/s) of
    the features, of the node and of each container that did any work.
    """

    model_config = ConfigDict(frozen=True)

    node_type: int
    node: str
    machine: MachineSpec | None = None
    chosen: IdleSource
    start: Time
    end: Time
    rows: int
    window_seconds: float
    power: dict[str, IdlePower]
    usage: dict[str, float]
    containers: dict[str, dict[str, float]]

    @property
    def seconds(self) -> float:
        """Return how much idle time the profile is made of (s)."""
        return self.rows * self.window_seconds

    def misfit(
        self, node_type: int, machine: MachineSpec | None, columns: Iterable[str], features: Iterable[str]
    ) -> str:
        """Return why the profile does not serve such a machine and these columns; empty when it does."""
        if self.node_type != node_type:
            return f"it is of node type {self.node_type}, not of {node_type}"
        if self.machine and machine:
            mine, others = self.machine.attributes(), machine.attributes()
            for name, value in mine.items():
                if value and others[name] and value != others[name]:
                    return f"it is of a machine with {name} {value}, and this one has {name} {others[name]}"
        for kind, needed, known in (("power", columns, self.power), ("usage", features, self.usage)):
            missing = [name for name in needed if name not in known]
            if missing:
                return f"it knows no {kind} of {', '.join(missing)}"
        return ""


def merge_profiles(stored: BackgroundProfile | None, fresh: BackgroundProfile) -> BackgroundProfile:
    """Return the later of two profiles of a node type, with the columns that only the earlier has.

    Runs of several feature groups and energy sources share a profile: none must take from it what another needs. The
    profile of a machine that differs is of no use and is dropped.
    """
    if stored is None:
        return fresh
    older, newer = sorted((stored, fresh), key=lambda profile: profile.end)
    if older.misfit(newer.node_type, newer.machine, (), ()) or (not newer.node_type and older.node != newer.node):
        return newer
    lacking = [name for name in older.usage if name not in newer.usage]
    containers = dict(newer.containers)
    for name, usage in older.containers.items():
        if added := {feature: usage[feature] for feature in lacking if usage.get(feature)}:
            containers[name] = added | newer.containers.get(name, {})
    merged = {"power": older.power | newer.power, "usage": older.usage | newer.usage, "containers": containers}
    return newer.model_copy(update=merged)


class BackgroundNames:
    """The containers of a profile, to be recognized on any machine of the node type, whatever their ids.

    A container is one of them when it has the pod, or the container name and the namespace, of one that ran at idle.
    In the ids of Kepler 0.10 and later these are the container's name, or the runtime and the pod.
    """

    def __init__(self, containers: Iterable[str]) -> None:
        names = list(containers)
        self._pods = {pod_of(name) for name in names} - {""}
        self._in_namespace = {_name_and_namespace(name) for name in names} - {None}

    def has(self, container: str) -> bool:
        """Return whether a container belongs to the background."""
        return pod_of(container) in self._pods or _name_and_namespace(container) in self._in_namespace


def _name_and_namespace(container: str) -> tuple[str, str] | None:
    parts = container.split("/")
    return (parts[2], parts[3]) if len(parts) == 4 and all(parts[2:]) else None


def profile_name(node_type: int) -> str:
    """Return the file name of a node type's profile."""
    return f"node_type_{node_type}.json"


def profile_number(name: str) -> int | None:
    """Return the node type of a profile by the name of its file; None for another file."""
    match = re.fullmatch(r"node_type_(0|[1-9][0-9]{0,8})\.json", name)
    return int(match[1]) if match else None


def profile_file(folder: Path, node_type: int) -> Path:
    """Return where the profile of a node type is kept."""
    return folder / profile_name(node_type)


def read_profile(folder: Path, node_type: int) -> BackgroundProfile | None:
    """Return the stored profile of a node type, or None."""
    file = profile_file(folder, node_type)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"The background profile {file} cannot be read: {error.strerror}.") from None
    return parse_profile(content, file, node_type)


def parse_profile(content: bytes, where: object, node_type: int | None = None) -> BackgroundProfile:
    """Return a profile from its JSON; refuse that of another node type than the one given."""
    try:
        profile = BackgroundProfile.model_validate(strict_json.parse(content))
    except strict_json.NotStrict as error:
        raise UserError(f"{where} is not a background profile: {error}.") from None
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise UserError(f"{where} is not a background profile: {place or 'its JSON'} is wrong.") from None
    if node_type not in (None, profile.node_type):
        raise UserError(f"{where} is the background profile of node type {profile.node_type}, not of {node_type}.")
    return profile

"""The background profile of a node type: power and usage of a machine on which nothing but its services run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from kepler_train.columns import power_columns
from kepler_train.errors import UserError
from kepler_train.isolate.idle import Chosen, idle_rows, window_seconds
from kepler_train.machine.spec import MachineSpec
from kepler_train.spec import Time

# Where a workspace, or DATAPATH, keeps profiles.
PROFILES = "profiles"


class Watts(BaseModel):
    """Power of one component at idle (W): mean and median, and how far single windows lie from the mean."""

    model_config = ConfigDict(frozen=True)

    mean: float
    median: float
    deviation: float


class Background(BaseModel):
    """What one machine of a node type needs when it is idle, and who runs on it then.

    `power` is by column of the frames (`<source>/<component>_power`); `usage` and `containers` are mean rates (1/s) of
    the features, of the node and of each container that did any work.
    """

    model_config = ConfigDict(frozen=True)

    node_type: int
    node: str
    machine: MachineSpec | None = None
    chosen: Chosen
    start: Time
    end: Time
    rows: int
    window_seconds: float
    power: dict[str, Watts]
    usage: dict[str, float]
    containers: dict[str, dict[str, float]]

    def misfit(
        self, node_type: int, machine: MachineSpec | None, columns: Iterable[str], features: Iterable[str]
    ) -> str:
        """Why this profile is not of such a machine, or does not know these columns; empty when it serves."""
        if self.node_type != node_type:
            return f"it is of node type {self.node_type}, not of {node_type}"
        if self.machine and machine:
            mine, others = self.machine.attributes(), machine.attributes()
            differ = [name for name, value in mine.items() if value and others[name] and value != others[name]]
            if differ:
                name = differ[0]
                return f"it is of a machine with {name} {mine[name]}, and this one has {name} {others[name]}"
        for kind, wanted, known in (("power", columns, self.power), ("usage", features, self.usage)):
            missing = [name for name in wanted if name not in known]
            if missing:
                return f"it knows no {kind} of {', '.join(missing)}"
        return ""


def background(
    node: pd.DataFrame, containers: pd.DataFrame, main: str, seconds: float, node_type: int, machine: MachineSpec | None
) -> Background:
    """The profile of one node from its frames, over an idle window of `seconds` at least."""
    idle, chosen = idle_rows(node, main, seconds)
    step = window_seconds(node.sort_values("time"))
    ran = containers[containers["time"].isin(idle["time"])].groupby("container")[features_of(node)].sum()
    return profile_of(idle, ran, chosen, step, node_type, machine)


def profile_of(
    idle: pd.DataFrame, ran: pd.DataFrame, chosen: Chosen, step: float, node_type: int, machine: MachineSpec | None
) -> Background:
    """The profile that idle rows of one node give, with the sum over them of the features of each container."""
    features = [name for name in features_of(idle) if not idle[name].isna().any()]  # some only other nodes have
    return Background(
        node_type=node_type,
        node=str(idle["node"].iloc[0]),
        machine=machine,
        chosen=chosen,
        start=idle["time"].iloc[0].to_pydatetime() - timedelta(seconds=step),
        end=idle["time"].iloc[-1].to_pydatetime(),
        rows=len(idle),
        window_seconds=step,
        power={name: _watts(idle[name]) for name in power_columns(idle)},
        usage={name: float(idle[name].mean()) for name in features},
        containers={
            str(name): {f: float(row[f]) for f in features} for name, row in (ran[features] / len(idle)).iterrows()
        },
    )


def features_of(node: pd.DataFrame) -> list[str]:
    """The columns of a node frame that hold features (1/s)."""
    return [name for name in node.columns if name not in ("time", "node", "workload", *power_columns(node))]


def _watts(power: pd.Series[float]) -> Watts:
    return Watts(mean=power.mean(), median=power.median(), deviation=power.std(ddof=0))


def renewed(stored: Background | None, fresh: Background) -> Background:
    """The later of two profiles of a node type, with the columns that only the earlier knows.

    Runs of several feature groups and energy sources share a profile: none must take from it what another needs. What
    was stored of a machine that differs is of no use and is not kept.
    """
    if stored is None:
        return fresh
    older, newer = sorted((stored, fresh), key=lambda one: one.end)
    if older.misfit(newer.node_type, newer.machine, (), ()) or (not newer.node_type and older.node != newer.node):
        return newer
    lacking = [name for name in older.usage if name not in newer.usage]
    ran = {
        name: {feature: own[feature] for feature in lacking if own.get(feature)}
        for name, own in older.containers.items()
    }
    return newer.model_copy(
        update={
            "power": older.power | newer.power,
            "usage": older.usage | newer.usage,
            "containers": {
                name: ran.get(name, {}) | newer.containers.get(name, {})
                for name in dict.fromkeys((*newer.containers, *(name for name, own in ran.items() if own)))
            },
        }
    )


class BackgroundNames:
    """The containers of a profile, to be found again on any machine of the node type, whatever their ids.

    A container is one of them when it has the pod, or the container name and the namespace, of one that ran at idle.
    In the ids of Kepler 0.10 and later these are the container's name, or the runtime and the pod.
    """

    def __init__(self, containers: Mapping[str, object]) -> None:
        ids = [name.split("/") for name in containers]
        self._second = {parts[1] if len(parts) == 4 else parts[0] for parts in ids} - {""}
        self._last = {tuple(parts[2:]) for parts in ids if len(parts) == 4 and all(parts[2:])}

    def has(self, container: str) -> bool:
        """Whether a container belongs to the background."""
        parts = container.split("/")
        if len(parts) != 4:
            return parts[0] in self._second
        return parts[1] in self._second or tuple(parts[2:]) in self._last


def profile_name(node_type: int) -> str:
    """The file of a node type's profile."""
    return f"node_type_{node_type}.json"


def profile_file(folder: Path, node_type: int) -> Path:
    """Where the profile of a node type is kept."""
    return folder / profile_name(node_type)


def read_background(folder: Path, node_type: int) -> Background | None:
    """The stored profile of a node type, if there is one."""
    file = profile_file(folder, node_type)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"The background profile {file} cannot be read: {error.strerror}.") from None
    return parse_background(content, file, node_type)


def parse_background(content: bytes, where: object, node_type: int) -> Background:
    """A profile of a node type from its JSON."""
    try:
        found = Background.model_validate_json(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise UserError(f"{where} is not a background profile: {place or 'its JSON'} is wrong.") from None
    if found.node_type != node_type:
        raise UserError(f"{where} is the background profile of node type {found.node_type}, not of {node_type}.")
    return found

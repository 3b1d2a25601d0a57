"""Which isolator a run uses: as asked, or for `auto` the profile where there is one, else the minimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.columns import power_columns
from kepler_train.errors import UserError
from kepler_train.isolate.containers import Windows, adds_up, batches
from kepler_train.isolate.idle import Chosen, window_seconds
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.profile import Background, features_of, profile_of
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.spec import MachineSpec
from kepler_train.samples.schedule import IDLE

# The length of the idle phase that Kepler's users know; less of it says little about the mean (s).
IDLE_SECONDS = 100.0
_MAKE_ONE = "make one with `kepler-train profile`"


@dataclass(frozen=True)
class Choice:
    """An isolator, the reason for it in words, and the profile of each node where it uses profiles."""

    isolator: str
    why: str
    profiles: Mapping[str, Background]


def choose(
    asked: str,
    node: pd.DataFrame,
    features: list[str],
    stored: Mapping[str, Background],
    own: Mapping[str, Background],
    node_type: int,
    machines: Mapping[str, MachineSpec | None],
) -> Choice:
    """The isolator for node rows, of which `features` are used.

    `stored` are profiles by node, or of any node; `own` are those of the rows themselves.
    """
    if asked not in MAY_USE_PROFILE:
        return Choice(asked, "it was asked for", {})
    names = sorted(map(str, node["node"].unique()))
    found = {
        name: stored[name] if name in stored else stored[ANY_NODE] for name in names if {name, ANY_NODE} & set(stored)
    }
    reason = f"there is no profile of node type {node_type}"
    if stored:
        reason = _misfit(found, names, node_type, machines, power_columns(node), features)
        if not reason:
            return Choice("profile", _made_of(found), found)
        reason = f"the stored profile cannot be used: {reason}"
        if asked == "profile":
            raise UserError(f"{reason[0].upper()}{reason[1:]}; {_MAKE_ONE}, or choose another isolator.")
    if own:
        return Choice("profile", f"{reason}, but {_idle_of(own)}", own)
    reason += f", and no schedule has {IDLE_SECONDS:g} s of idle on {' and '.join(names)}"
    if asked == "profile":
        raise UserError(
            f"The isolator profile has nothing to remove: {reason}; {_MAKE_ONE}, or choose another isolator."
        )
    return Choice("min", reason, {})


def _misfit(
    found: Mapping[str, Background],
    names: list[str],
    node_type: int,
    machines: Mapping[str, MachineSpec | None],
    columns: list[str],
    features: list[str],
) -> str:
    """What keeps the profiles from serving every node; empty when nothing does."""
    needed = [name for name in features if adds_up(name)]
    for name in names:
        if name not in found:
            return f"it is of {', '.join(sorted(found)) or 'other nodes'}, not of {name}"
        misfit = found[name].misfit(node_type, machines.get(name), columns, needed)
        if misfit:
            return misfit
    return ""


def _made_of(found: Mapping[str, Background]) -> str:
    one = next(iter(found.values()))
    return (
        f"there is a profile of node type {one.node_type}, of {one.rows * one.window_seconds:g} s of {one.node} on"
        f" {one.start:%Y-%m-%d}"
    )


def _idle_of(own: Mapping[str, Background]) -> str:
    parts = (f"{one.rows * one.window_seconds:g} s on {name}" for name, one in own.items())
    return f"the schedule has idle phases of {', '.join(parts)}"


def scheduled_profiles(
    node: pd.DataFrame, containers: Sequence[Path], node_type: int, machines: Mapping[str, MachineSpec | None]
) -> dict[str, Background]:
    """The profile of each node from the idle phases of the schedule; none unless every node idled long enough."""
    return profiles_of(node, containers, node["workload"] == IDLE, "schedule", node_type, machines)


def profiles_of(
    node: pd.DataFrame,
    containers: Sequence[Path],
    idle: pd.Series[bool],
    chosen: Chosen,
    node_type: int,
    machines: Mapping[str, MachineSpec | None],
) -> dict[str, Background]:
    """The profile of each node from rows that are idle; none unless every node has enough of them."""
    every = {str(name): rows.sort_values("time") for name, rows in node.groupby("node")}
    own = {name: rows[idle[rows.index]] for name, rows in every.items()}
    if any(len(rows) < 2 for rows in own.values()):
        return {}
    steps = {name: window_seconds(rows) for name, rows in every.items()}
    if any(len(rows) * steps[name] < IDLE_SECONDS for name, rows in own.items()):
        return {}
    ran = _ran_at_idle(node, containers, idle.to_numpy())
    return {
        name: profile_of(rows, ran[ran["node"] == name], chosen, steps[name], node_type, machines.get(name))
        for name, rows in own.items()
    }


def _ran_at_idle(node: pd.DataFrame, containers: Sequence[Path], idle: np.ndarray) -> pd.DataFrame:
    """The sum over idle windows of the features of every container, by node."""
    features, nodes = features_of(node), node["node"].to_numpy()
    pieces = []
    for batch in batches(containers, Windows(node), features):
        at = np.flatnonzero(idle[batch.rows])
        rows = pd.DataFrame({name: values[at] for name, values in batch.features.items()})
        by = [pd.Series(nodes[batch.rows[at]], name="node"), pd.Series(batch.codes[at], name="container")]
        summed = rows.groupby(by).sum()
        pieces.append(summed.rename(index=dict(enumerate(batch.names)), level="container"))
    return pd.concat(pieces).groupby(level=["node", "container"]).sum().reset_index("node")

"""Which isolator a run uses: as requested, or for `auto` the profile where there is one, else the minimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.columns import NODE, power_columns
from kepler_train.errors import UserError
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.profile import BackgroundProfile
from kepler_train.isolate.profiling import IDLE_SECONDS
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.spec import MachineSpec

_MAKE_ONE = "make one with `kepler-train profile`"


@dataclass(frozen=True)
class Choice:
    """An isolator, the reason for it in words, and the profile of each node where it uses profiles."""

    isolator: str
    why: str
    profiles: Mapping[str, BackgroundProfile]


def choose(
    requested: str,
    node: pd.DataFrame,
    features: list[str],
    stored: Mapping[str, BackgroundProfile],
    scheduled: Mapping[str, BackgroundProfile],
    node_type: int,
    machines: Mapping[str, MachineSpec | None],
) -> Choice:
    """Return the isolator for node rows, of which `features` are used.

    `stored` are profiles by node, or of any node; `scheduled` are those made of idle phases among the rows.
    """
    if requested not in MAY_USE_PROFILE:
        return Choice(requested, "it was asked for", {})
    nodes = sorted(map(str, node[NODE].unique()))
    reason = f"there is no profile of node type {node_type}"
    if stored:
        profiles = {name: stored[key] for name in nodes for key in (ANY_NODE, name) if key in stored}
        needed = [name for name in features if catalog().adds_up(name)]
        misfit = _misfit(profiles, nodes, node_type, machines, power_columns(node), needed)
        if not misfit:
            return Choice("profile", _describe(profiles), profiles)
        reason = f"the stored profile cannot be used: {misfit}"
    if scheduled:
        parts = (f"{profile.seconds:g} s on {name}" for name, profile in scheduled.items())
        return Choice("profile", f"{reason}, but the schedule has idle phases of {', '.join(parts)}", scheduled)
    reason += f", and no schedule has {IDLE_SECONDS:g} s of idle on {' and '.join(nodes)}"
    if requested == "profile":
        raise UserError(
            f"The isolator profile has nothing to remove: {reason}; {_MAKE_ONE}, or choose another isolator."
        )
    return Choice("min", reason, {})


def _misfit(
    profiles: Mapping[str, BackgroundProfile],
    nodes: list[str],
    node_type: int,
    machines: Mapping[str, MachineSpec | None],
    columns: list[str],
    features: list[str],
) -> str:
    """Return what keeps the profiles from serving every node; empty when nothing does."""
    for name in nodes:
        if name not in profiles:
            return f"it is of {', '.join(sorted(profiles)) or 'other nodes'}, not of {name}"
        misfit = profiles[name].misfit(node_type, machines.get(name), columns, features)
        if misfit:
            return misfit
    return ""


def _describe(profiles: Mapping[str, BackgroundProfile]) -> str:
    first = next(iter(profiles.values()))
    return (
        f"there is a profile of node type {first.node_type}, of {first.seconds:g} s of {first.node} on"
        f" {first.start:%Y-%m-%d}"
    )

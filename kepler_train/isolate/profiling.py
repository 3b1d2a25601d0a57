"""Background profiles of nodes, made from the rows in which they idled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.arrays import Bools
from kepler_train.columns import CONTAINER, NODE, TIME, WORKLOAD, feature_columns, power_columns
from kepler_train.isolate.containers import WindowIndex, batches
from kepler_train.isolate.idle import IdleSource, idle_rows, window_seconds
from kepler_train.isolate.profile import BackgroundProfile, IdlePower
from kepler_train.machine.spec import MachineSpec
from kepler_train.samples.schedule import IDLE

# The length of the idle phase that Kepler's users know; less of it says little about the mean (s).
IDLE_SECONDS = 100.0


def profile_node(
    node: pd.DataFrame,
    containers: Sequence[Path],
    main: str,
    seconds: float,
    node_type: int,
    machine: MachineSpec | None,
) -> BackgroundProfile:
    """Return the profile of one node from its rows and the files of container rows.

    The idle window has `seconds` at least.
    """
    idle, chosen = idle_rows(node, main, seconds)
    step = window_seconds(node.sort_values(TIME))
    features = feature_columns(node)
    parts = [
        pd.DataFrame(batch.features).assign(**{CONTAINER: np.array(batch.names, dtype=object)[batch.codes]})
        for batch in batches(containers, WindowIndex(idle), features)
    ]
    usage = pd.concat(parts).groupby(CONTAINER).sum() if parts else pd.DataFrame(columns=features)
    return _make_profile(idle, usage, chosen, step, node_type, machine)


def scheduled_profiles(
    node: pd.DataFrame, containers: Sequence[Path], node_type: int, machines: Mapping[str, MachineSpec | None]
) -> dict[str, BackgroundProfile]:
    """Return the profile of each node from the schedule's idle phases; none unless every node idled long enough."""
    return profiles_of(node, containers, node[WORKLOAD] == IDLE, "schedule", node_type, machines)


def profiles_of(
    node: pd.DataFrame,
    containers: Sequence[Path],
    idle: pd.Series[bool],
    chosen: IdleSource,
    node_type: int,
    machines: Mapping[str, MachineSpec | None],
) -> dict[str, BackgroundProfile]:
    """Return the profile of each node from its idle rows; none unless every node has enough of them."""
    node_rows = {str(name): rows.sort_values(TIME) for name, rows in node.groupby(NODE)}
    idle_by_node = {name: rows[idle[rows.index]] for name, rows in node_rows.items()}
    if any(len(rows) < 2 for rows in idle_by_node.values()):
        return {}
    steps = {name: window_seconds(rows) for name, rows in node_rows.items()}
    if any(len(rows) * steps[name] < IDLE_SECONDS for name, rows in idle_by_node.items()):
        return {}
    usage = _usage_at_idle(node, containers, idle.to_numpy())
    return {
        name: _make_profile(rows, usage[usage[NODE] == name], chosen, steps[name], node_type, machines.get(name))
        for name, rows in idle_by_node.items()
    }


def _make_profile(
    idle: pd.DataFrame,
    usage: pd.DataFrame,
    chosen: IdleSource,
    step: float,
    node_type: int,
    machine: MachineSpec | None,
) -> BackgroundProfile:
    """Return the profile of one node; `usage` has the sum over its idle rows of the features of each container."""
    features = [name for name in feature_columns(idle) if not idle[name].isna().any()]  # some only other nodes have
    return BackgroundProfile(
        node_type=node_type,
        node=str(idle[NODE].iloc[0]),
        machine=machine,
        chosen=chosen,
        start=idle[TIME].iloc[0].to_pydatetime() - timedelta(seconds=step),
        end=idle[TIME].iloc[-1].to_pydatetime(),
        rows=len(idle),
        window_seconds=step,
        power={
            name: IdlePower(mean=idle[name].mean(), median=idle[name].median(), deviation=idle[name].std(ddof=0))
            for name in power_columns(idle)
        },
        usage={name: float(idle[name].mean()) for name in features},
        containers={
            str(name): {f: float(row[f]) for f in features} for name, row in (usage[features] / len(idle)).iterrows()
        },
    )


def _usage_at_idle(node: pd.DataFrame, containers: Sequence[Path], idle: Bools) -> pd.DataFrame:
    """Return the sum over idle windows of the features of every container, by node."""
    nodes = node[NODE].to_numpy()
    sums = []
    for batch in batches(containers, WindowIndex(node), feature_columns(node)):
        rows = np.flatnonzero(idle[batch.rows])
        values = pd.DataFrame({name: column[rows] for name, column in batch.features.items()})
        by = [pd.Series(nodes[batch.rows[rows]], name=NODE), pd.Series(batch.codes[rows], name=CONTAINER)]
        sums.append(values.groupby(by).sum().rename(index=dict(enumerate(batch.names)), level=CONTAINER))
    return pd.concat(sums).groupby(level=[NODE, CONTAINER]).sum().reset_index(NODE)

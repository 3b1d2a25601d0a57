"""Isolation: node rows with dynamic power, and container rows with their shares of it.

Files by feature group: `node_<group>.parquet` and `containers_<group>.parquet`. Their features are the work beyond
that of the background, which is all work where the isolator knows no background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.arrays import Floats, Positions
from kepler_train.catalog import catalog
from kepler_train.columns import CONTAINER, INPUT, NODE, TIME, WORKLOAD, component_of
from kepler_train.errors import DataError
from kepler_train.isolate.attribution import UNATTRIBUTED, Shares, shares
from kepler_train.isolate.clipping import Removed, subtract_background
from kepler_train.isolate.containers import Batch, WindowIndex, batches
from kepler_train.isolate.removal import Removal


@dataclass(frozen=True)
class Isolated:
    """One feature group: node rows, how the power of each column is shared, and what was removed."""

    features: list[str]
    node: pd.DataFrame
    shares: dict[str, Shares]
    removed: dict[str, dict[str, Removed]]

    @cached_property
    def labels(self) -> pa.Table:
        """Return time, node and workload of every window."""
        table = pa.Table.from_pandas(self.node[[TIME, NODE, WORKLOAD]], preserve_index=False)
        types = [table.schema.field(TIME), pa.field(NODE, pa.string()), pa.field(WORKLOAD, pa.string())]
        return table.cast(pa.schema(types)).combine_chunks()

    @cached_property
    def schema(self) -> pa.Schema:
        """Return the columns of container rows."""
        labels, number = self.labels.schema, pa.float64()
        return pa.schema(
            [labels.field(TIME), labels.field(NODE), pa.field(CONTAINER, pa.string())]
            + [pa.field(name, number) for name in self.features]
            + [labels.field(WORKLOAD)]
            + [pa.field(name, number) for name in self.shares]
        )


@dataclass(frozen=True)
class Usage:
    """Work by feature and window (1/s): of all containers, of the background, and the share of the latter to keep."""

    everyone: dict[str, Floats]
    background: dict[str, Floats]
    kept_share: dict[str, Floats]  # 0 to 1

    def beyond(self, feature: str) -> Floats:
        """Return the work that is left when the background's is removed."""
        background = self.background[feature]
        return self.everyone[feature] - background + background * self.kept_share[feature]


def isolated_node_file(group: str) -> str:
    """Return the name of the file of node rows with dynamic power."""
    return f"node_{group}.parquet"


def attributed_file(group: str) -> str:
    """Return the name of the file of container rows with their shares of dynamic power."""
    return f"containers_{group}.parquet"


def isolate_containers(
    node: pd.DataFrame,
    containers: Sequence[Path],
    groups: Mapping[str, list[str]],
    removal: Removal,
    rule: str,
    out: Path,
) -> dict[str, Isolated]:
    """Write both files of every group, and return their content; container rows are read twice, a batch at a time."""
    features = sorted(set().union(*groups.values()))
    _check_columns(containers, features)
    windows = WindowIndex(node)
    additive = [name for name in features if catalog().adds_up(name)]
    usage = _usage(containers, windows, len(node), additive, removal)
    isolated = {group: _isolated(node, group, names, usage, removal, rule) for group, names in groups.items()}
    with ExitStack() as stack:
        writers = {
            group: stack.enter_context(_writer(out / attributed_file(group), rows)) for group, rows in isolated.items()
        }
        for batch in batches(containers, windows, features):
            beyond = _beyond_background(batch, usage, removal)
            for group, writer in writers.items():
                writer.write_table(_attributed_rows(beyond, isolated[group]))
        for group, writer in writers.items():
            writer.write_table(_unattributed_rows(isolated[group]))
    for group, rows in isolated.items():
        rows.node.to_parquet(out / isolated_node_file(group), index=False)
    return isolated


def _writer(file: Path, isolated: Isolated) -> pq.ParquetWriter:
    # Numbers hardly repeat: looking for a dictionary of them takes longer than writing them.
    return pq.ParquetWriter(file, isolated.schema, compression="zstd", use_dictionary=[NODE, CONTAINER, WORKLOAD])


def _check_columns(containers: Sequence[Path], features: list[str]) -> None:
    common = set.intersection(*(set(pq.read_schema(file).names) for file in containers))
    missing = [name for name in features if name not in common]
    if missing:
        raise DataError(f"The rows of containers have no {', '.join(missing)}: choose another feature group.")


def _usage(containers: Sequence[Path], windows: WindowIndex, rows: int, features: list[str], removal: Removal) -> Usage:
    everyone = {name: np.zeros(rows) for name in features}
    background = {name: np.zeros(rows) for name in features}
    for batch in batches(containers, windows, features):
        of_background = batch.having(removal.is_background)
        for name, values in batch.features.items():
            everyone[name] += np.bincount(batch.rows, values, rows)
            if of_background.any():
                background[name] += np.bincount(batch.rows[of_background], values[of_background], rows)
    kept_share = {}
    for name, work in background.items():
        excess = np.maximum(work - removal.allowance(name), 0.0)
        kept_share[name] = np.divide(excess, work, out=np.zeros(rows), where=work > 0)
    return Usage(everyone, background, kept_share)


def _isolated(
    node: pd.DataFrame, group: str, features: list[str], usage: Usage, removal: Removal, rule: str
) -> Isolated:
    background = pd.DataFrame({name: usage.background.get(name, node[name]) for name in features})
    watts, removed = subtract_background(node, removal.background_power(group, background), removal.deviation)
    work = {name: usage.beyond(name) for name in features if name in usage.everyone}
    rows = pd.DataFrame(
        {name: node[name] for name in (TIME, NODE, WORKLOAD, INPUT) if name in node.columns}
        | {name: work.get(name, node[name]) for name in features}
        | watts
    )
    by_column = {
        column: shares(rule, catalog().group(group), component_of(column), node[NODE], work, dynamic)
        for column, dynamic in watts.items()
    }
    return Isolated(features, rows, by_column, removed)


def _beyond_background(batch: Batch, usage: Usage, removal: Removal) -> Batch:
    """Return the rows with the work that is not removed, without those of which nothing is left."""
    of_background = batch.having(removal.is_background)
    if not of_background.any():
        return batch
    features = {
        name: values * np.where(of_background, usage.kept_share[name][batch.rows], 1.0)
        if name in usage.kept_share
        else values
        for name, values in batch.features.items()
    }
    left = ~of_background | np.any([features[name] > 0 for name in usage.kept_share], axis=0)
    features = {name: values[left] for name, values in features.items()}
    return replace(batch, rows=batch.rows[left], codes=batch.codes[left], features=features)


def _attributed_rows(batch: Batch, isolated: Isolated) -> pa.Table:
    names = pa.array(batch.names, pa.string()).take(pa.array(batch.codes))
    features = {name: batch.features[name] for name in isolated.features}
    watts = {name: share.of(batch.rows, features) for name, share in isolated.shares.items()}
    return _container_rows(isolated, batch.rows, names, features, watts)


def _unattributed_rows(isolated: Isolated) -> pa.Table:
    """Return a row for every window with power that belongs to no container."""
    left = {name: share.left() for name, share in isolated.shares.items()}
    rows = np.flatnonzero(np.any([watts > 0 for watts in left.values()], axis=0)) if left else np.empty(0, np.intp)
    # Nobody's work: 0, but for features of the node that do not add up, which everybody has.
    features = {
        name: np.zeros(len(rows)) if catalog().adds_up(name) else isolated.node[name].to_numpy(dtype=np.float64)[rows]
        for name in isolated.features
    }
    names = pa.array([UNATTRIBUTED] * len(rows), pa.string())
    return _container_rows(isolated, rows, names, features, {name: watts[rows] for name, watts in left.items()})


def _container_rows(
    isolated: Isolated, rows: Positions, names: pa.Array, features: Mapping[str, Floats], watts: Mapping[str, Floats]
) -> pa.Table:
    window = isolated.labels.take(pa.array(rows))
    columns = {TIME: window[TIME], NODE: window[NODE], CONTAINER: names}
    return pa.table(columns | {**features, WORKLOAD: window[WORKLOAD], **watts}, schema=isolated.schema)

"""Isolation: node rows with dynamic power, and container rows with their shares of it.

Files by feature group: `node_<group>.parquet` and `containers_<group>.parquet`. Features in them are what was done
beyond the background, which is all that was done where the isolator knows no background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.catalog import catalog
from kepler_train.errors import DataError
from kepler_train.isolate.attribution import UNATTRIBUTED, Shares, shares
from kepler_train.isolate.clipping import Removed, dynamic_power
from kepler_train.isolate.containers import Batch, Floats, Positions, Windows, adds_up, batches
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
        """Time, node and workload of every window."""
        table = pa.Table.from_pandas(self.node[["time", "node", "workload"]], preserve_index=False)
        types = [table.schema.field("time"), pa.field("node", pa.string()), pa.field("workload", pa.string())]
        return table.cast(pa.schema(types)).combine_chunks()


@dataclass(frozen=True)
class Usage:
    """Work by feature and window (1/s): of all containers, of the background, and what is kept of the latter."""

    everyone: dict[str, Floats]
    background: dict[str, Floats]
    kept: dict[str, Floats]  # share of the background's work that is not removed, 0 to 1

    def beyond(self, feature: str) -> Floats:
        """The work that is left when the background's is removed."""
        background = self.background[feature]
        return self.everyone[feature] - background + background * self.kept[feature]


def isolated_node(group: str) -> str:
    """The file of node rows with dynamic power."""
    return f"node_{group}.parquet"


def attributed(group: str) -> str:
    """The file of container rows with their shares of dynamic power."""
    return f"containers_{group}.parquet"


def isolate_containers(
    node: pd.DataFrame,
    containers: Sequence[Path],
    groups: Mapping[str, list[str]],
    removal: Removal,
    rule: str,
    out: Path,
) -> dict[str, Isolated]:
    """Write both files of every group; container rows are read twice, a batch at a time."""
    features = sorted({name for own in groups.values() for name in own})
    _check_columns(containers, features)
    windows = Windows(node)
    usage = _usage(containers, windows, len(node), [name for name in features if adds_up(name)], removal)
    found = {group: _isolated(node, group, own, usage, removal, rule) for group, own in groups.items()}
    with ExitStack() as stack:
        writers = {
            group: (one, stack.enter_context(_writer(out / attributed(group), one))) for group, one in found.items()
        }
        for batch in batches(containers, windows, features):
            kept = _beyond_background(batch, usage, removal)
            for one, writer in writers.values():
                writer.write_table(_attributed_rows(kept, one))
        for one, writer in writers.values():
            writer.write_table(_left_over(one))
    for group, one in found.items():
        one.node.to_parquet(out / isolated_node(group), index=False)
    return found


def _writer(file: Path, one: Isolated) -> pq.ParquetWriter:
    # Numbers hardly repeat: looking for a dictionary of them takes longer than writing them.
    return pq.ParquetWriter(file, _schema(one), compression="zstd", use_dictionary=["node", "container", "workload"])


def _check_columns(containers: Sequence[Path], features: list[str]) -> None:
    there = set.intersection(*(set(pq.read_schema(file).names) for file in containers))
    missing = [name for name in features if name not in there]
    if missing:
        raise DataError(f"The rows of containers have no {', '.join(missing)}: choose another feature group.")


def _usage(containers: Sequence[Path], windows: Windows, rows: int, features: list[str], removal: Removal) -> Usage:
    everyone = {name: np.zeros(rows) for name in features}
    background = {name: np.zeros(rows) for name in features}
    for batch in batches(containers, windows, features):
        own = batch.having(removal.is_background)
        for name, values in batch.features.items():
            everyone[name] += np.bincount(batch.rows, values, rows)
            if own.any():
                background[name] += np.bincount(batch.rows[own], values[own], rows)
    kept = {}
    for name, done in background.items():
        more = np.maximum(done - removal.allowance(name), 0.0)
        kept[name] = np.divide(more, done, out=np.zeros(rows), where=done > 0)
    return Usage(everyone, background, kept)


def _isolated(
    node: pd.DataFrame, group: str, features: list[str], usage: Usage, removal: Removal, rule: str
) -> Isolated:
    of_background = pd.DataFrame({name: usage.background.get(name, node[name]) for name in features})
    watts, removed = dynamic_power(node, removal.background_power(group, of_background), removal.deviation())
    work = {name: usage.beyond(name) for name in features if name in usage.everyone}
    rows = pd.DataFrame(
        {name: node[name] for name in ("time", "node", "workload")}
        | {name: work.get(name, node[name]) for name in features}
        | watts
    )
    by_column = {
        column: shares(rule, catalog().group(group), _component(column), node["node"], work, watts[column])
        for column in watts
    }
    return Isolated(features, rows, by_column, removed)


def _component(column: str) -> str:
    return column.partition("/")[2].removesuffix("_power")


def _beyond_background(batch: Batch, usage: Usage, removal: Removal) -> Batch:
    """The rows with the work that is not removed; without those of which nothing is left."""
    own = batch.having(removal.is_background)
    if not own.any():
        return batch
    features = {
        name: values * np.where(own, usage.kept[name][batch.rows], 1.0) if name in usage.kept else values
        for name, values in batch.features.items()
    }
    left = ~own | np.any([features[name] > 0 for name in usage.kept], axis=0)
    return Batch(
        batch.rows[left], batch.codes[left], batch.names, {name: values[left] for name, values in features.items()}
    )


def _attributed_rows(batch: Batch, one: Isolated) -> pa.Table:
    names = pa.array(batch.names, pa.string()).take(pa.array(batch.codes))
    features = {name: batch.features[name] for name in one.features}
    return _rows(
        one, batch.rows, names, features, {name: own.of(batch.rows, features) for name, own in one.shares.items()}
    )


def _left_over(one: Isolated) -> pa.Table:
    """A row for every window with power that belongs to nobody."""
    left = {name: own.left() for name, own in one.shares.items()}
    rows = np.flatnonzero(np.any([watts > 0 for watts in left.values()], axis=0)) if left else np.empty(0, np.int64)
    # Nobody's work: 0, but for features of the node that do not add up, which everybody has.
    features = {
        name: np.zeros(len(rows)) if adds_up(name) else one.node[name].to_numpy(dtype=np.float64)[rows]
        for name in one.features
    }
    names = pa.array([UNATTRIBUTED] * len(rows), pa.string())
    return _rows(one, rows, names, features, {name: watts[rows] for name, watts in left.items()})


def _rows(
    one: Isolated, rows: Positions, names: pa.Array, features: Mapping[str, Floats], watts: Mapping[str, Floats]
) -> pa.Table:
    window = one.labels.take(pa.array(rows))
    columns = {"time": window["time"], "node": window["node"], "container": names}
    columns |= {**features, "workload": window["workload"], **watts}
    return pa.table(columns, schema=_schema(one))


def _schema(one: Isolated) -> pa.Schema:
    labels, number = one.labels.schema, pa.float64()
    return pa.schema(
        [labels.field("time"), labels.field("node"), pa.field("container", pa.string())]
        + [pa.field(name, number) for name in one.features]
        + [labels.field("workload")]
        + [pa.field(name, number) for name in one.shares]
    )

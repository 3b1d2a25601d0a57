"""Write the frames of a folder of samples, node by node and containers batch by batch."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.errors import DataError
from kepler_train.events import say
from kepler_train.extract.feature_groups import select_columns
from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE, PACKAGES_FILE
from kepler_train.extract.frame_metadata import extraction_metadata, with_metadata
from kepler_train.extract.node_extraction import NodeExtraction, extractions
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.verdict import find_collected_dialect
from kepler_train.workspace import Figures

# Rows that are decoded at once: the names of containers are long.
_ROWS = 1 << 17


def extract_samples(
    samples: Path, spec: RunSpec, schedule: Schedule, out: Path, nodes: Collection[str] = ()
) -> Figures:
    """Write the frames of a folder of samples and return figures; memory does not grow with the length of the window.

    Frames hold `nodes`, else all nodes of the spec; their columns are the same either way.
    """
    node_tables: list[pa.Table] = []
    package_tables: list[pa.Table] = []
    container_row_count = dropped = 0
    lags: dict[str, dict[str, Any] | None] = {}
    dialect = find_collected_dialect(spec, samples)
    metadata: dict[str, Any] = {}
    with ExitStack() as files:
        containers: pq.ParquetWriter | None = None
        for node in extractions(samples, spec, dialect, schedule, nodes):
            metadata = metadata or extraction_metadata(spec, schedule, dialect, node.window_seconds)
            for batch in node.containers():
                for first in range(0, max(len(batch), 1), _ROWS):
                    table = with_metadata(decode_names(batch.slice(first, _ROWS)), metadata)
                    containers = containers or files.enter_context(_writer(out / CONTAINERS_FILE, table.schema))
                    containers.write_table(table)
                container_row_count += len(batch)
            node_tables.append(decode_names(node.node()))
            if packages := node.packages():
                package_tables.append(decode_names(packages))
            dropped += node.dropped
            lags[node.name] = asdict(node.lag) if np.isfinite(node.lag.error) else None
            report_node(node, len(node_tables[-1]), spec)
    rows = _write_tables(node_tables, metadata, out / NODE_FILE)
    if package_tables:
        _write_tables(package_tables, metadata, out / PACKAGES_FILE)
    return {
        "nodes": len(node_tables),
        "rows": len(rows),
        "container_rows": container_row_count,
        "dropped": dropped,
        "lags": lags,
        "left_out": _left_out(rows, spec),
    }


def report_node(node: NodeExtraction, rows: int, spec: RunSpec) -> None:
    """Log what was extracted of a node; refuse one without rows."""
    if not rows:
        seconds = spec.resolution or node.window_seconds
        raise DataError(
            f"Node {node.name or 'without a name'} has no {seconds:g} s without a gap or a reset of its"
            " counters: choose a longer window or check its exporter."
        )
    say(f"extract: {node.name}: {rows} rows, {node.dropped} windows dropped for gaps or resets")
    if node.lag.significant:
        say(
            f"extract: {node.name}: energy is read {node.lag.seconds:.2f} ± {node.lag.error:.2f} s after work;"
            f" corrected, and with it {100 * node.lag.gain:.0f} % of the changes of power that were unexplained"
        )


def _left_out(node: pa.Table, spec: RunSpec) -> dict[str, dict[str, list[str]]]:
    """Return and log the optional features without data, by feature group and set."""
    complete = [name for name in node.column_names if not _has_nan(node[name])]
    left_out = {}
    for group in spec.feature_groups:
        if sets := select_columns(complete, group, spec.thirdparty_metrics).left_out:
            left_out[group] = sets
            names = ", ".join(f"{name} ({', '.join(features)})" for name, features in sets.items())
            say(f"extract: {group} does without what has no data: {names}")
    return left_out


def _has_nan(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py())


def _write_tables(tables: list[pa.Table], metadata: dict[str, Any], file: Path) -> pa.Table:
    """Write the rows of all nodes to one file, and return them."""
    rows = with_metadata(pa.concat_tables(tables, promote_options="default"), metadata)
    with _writer(file, rows.schema) as writer:
        writer.write_table(rows)
    return rows


def _writer(file: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """Open a file of rows: words by number, numbers byte by byte, which packs them well and fast."""
    numbers = [field.name for field in columns if pa.types.is_floating(field.type)]
    words = [name for name in columns.names if name not in numbers]
    return pq.ParquetWriter(file, columns, compression="zstd", use_dictionary=words, use_byte_stream_split=numbers)


def decode_names(table: pa.Table) -> pa.Table:
    """Return a table with names in place of their codes: the file codes them anyway, and its readers see strings."""
    fields = [pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))

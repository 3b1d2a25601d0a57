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
from kepler_train.extract.columns import select_columns
from kepler_train.extract.frame_files import CONTAINERS, NODE, PACKAGES
from kepler_train.extract.frames import Extraction, extractions
from kepler_train.extract.provenance import about_rows, described
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.verdict import find_collected_dialect
from kepler_train.workspace import Figures

# Rows that are made ready at once: the names of containers are long.
_ROWS = 1 << 17


def extract_samples(
    samples: Path, spec: RunSpec, schedule: Schedule, out: Path, nodes: Collection[str] = ()
) -> Figures:
    """Write both frames of a folder of samples, containers batch by batch, so that memory does not grow with time.

    Frames are of `nodes`, else of all nodes of the spec; their columns are the same either way.
    """
    tables: list[pa.Table] = []
    packages: list[pa.Table] = []
    rows = dropped = 0
    lags: dict[str, dict[str, Any] | None] = {}
    dialect = find_collected_dialect(spec, samples)
    about: dict[str, Any] = {}
    with ExitStack() as files:
        containers: pq.ParquetWriter | None = None
        for node in extractions(samples, spec, dialect, schedule, nodes):
            about = about or about_rows(spec, schedule, dialect, node.window_seconds)
            for batch in node.containers():
                for first in range(0, max(len(batch), 1), _ROWS):
                    table = described(with_words(batch.slice(first, _ROWS)), about)
                    containers = containers or files.enter_context(_writer(out / CONTAINERS, table.schema))
                    containers.write_table(table)
                rows += len(batch)
            tables.append(with_words(node.node()))
            packages += [with_words(table)] if (table := node.packages()) else []
            dropped += node.dropped
            lags[node.name] = asdict(node.lag) if np.isfinite(node.lag.error) else None
            tell(node, len(tables[-1]), spec)
    every = described(pa.concat_tables(tables, promote_options="default"), about)
    with _writer(out / NODE, every.schema) as file:
        file.write_table(every)
    if packages:
        parts = described(pa.concat_tables(packages, promote_options="default"), about)
        with _writer(out / PACKAGES, parts.schema) as file:
            file.write_table(parts)
    figures: Figures = {"nodes": len(tables), "rows": len(every), "container_rows": rows, "dropped": dropped}
    return figures | {"lags": lags, "left_out": left_out(every, spec)}


def tell(node: Extraction, rows: int, spec: RunSpec) -> None:
    """Say what was found of a node, or that it was nothing."""
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


def left_out(node: pa.Table, spec: RunSpec) -> dict[str, dict[str, list[str]]]:
    """Optional features without data, by feature group and set; each group says so once."""
    complete = [name for name in node.column_names if not _has_nan(node[name])]
    found = {group: select_columns(complete, group, spec.thirdparty_metrics).left_out for group in spec.feature_groups}
    for group, sets in found.items():
        if sets:
            names = ", ".join(f"{name} ({', '.join(features)})" for name, features in sets.items())
            say(f"extract: {group} does without what has no data: {names}")
    return {group: sets for group, sets in found.items() if sets}


def _has_nan(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py())


def _writer(file: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """A file of rows: words by number, numbers byte by byte, which packs them well and fast."""
    numbers = [field.name for field in columns if pa.types.is_floating(field.type)]
    words = [name for name in columns.names if name not in numbers]
    return pq.ParquetWriter(file, columns, compression="zstd", use_dictionary=words, use_byte_stream_split=numbers)


def with_words(table: pa.Table) -> pa.Table:
    """Codes of names as the names themselves: the file codes them anyway, and its readers see strings."""
    fields = [pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))

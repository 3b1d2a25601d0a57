"""Several queries of one machine as one set of rows: each is extracted alone, and each row knows its query."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.columns import INPUT, NODE, TIME
from kepler_train.errors import UserError
from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE
from kepler_train.isolate.containers import read_batches
from kepler_train.machine.by_node import ANY_NODE, write_machines
from kepler_train.machine.spec import MachineSpec
from kepler_train.runs.tables import extracted
from kepler_train.runs.temporary import TemporaryRun
from kepler_train.samples.parquet import window_of
from kepler_train.samples.schedule import Schedule
from kepler_train.workspace import files_of

_MINUTE = "%Y-%m-%d %H:%M UTC"


def give_inputs(
    run: TemporaryRun, samples: Mapping[str, Path], schedule: Schedule, machine: MachineSpec | None
) -> None:
    """Give the rows of several queries as the result of extraction.

    No rate reaches from one query into another, whatever time is between them. Queries that overlap are refused: rows
    would count twice.
    """
    frames: dict[str, Path] = {}
    for number, (name, folder) in enumerate(samples.items()):
        start, end = window_of(folder)
        spec = run.spec.model_copy(update={"start": start, "end": end})
        work = run.folder_of_its_own(f"input_{number}")
        frames[name] = extracted(work, spec, folder, schedule, machine).folder("extract")
    node = _node_rows(frames)
    containers = [file for folder in frames.values() for file in files_of(folder, CONTAINERS_FILE)]

    def write(out: Path) -> None:
        first = pq.read_schema(files_of(next(iter(frames.values())), NODE_FILE)[0])
        table = pa.Table.from_pandas(node, preserve_index=False)
        about = (first.metadata or {}) | (table.schema.metadata or {})
        pq.write_table(table.replace_schema_metadata(about), out / NODE_FILE)
        _write_containers(containers, out / CONTAINERS_FILE)
        write_machines(out, {ANY_NODE: machine} if machine else {})

    for step in ("query", "validate"):
        run.give(step, lambda _: None)
    run.give("extract", write)


def _node_rows(frames: Mapping[str, Path]) -> pd.DataFrame:
    """Return the rows of nodes of all queries, with the columns that all of them have and the name of the query."""
    parts = [
        pd.concat([pd.read_parquet(file) for file in files_of(folder, NODE_FILE)], ignore_index=True).assign(
            **{INPUT: name}
        )
        for name, folder in frames.items()
    ]
    rows = pd.concat(parts, join="inner", ignore_index=True)
    for node, of_node in rows.groupby(NODE):
        spans = of_node.groupby(INPUT)[TIME].agg(["min", "max"]).sort_values("min")
        spanned = ((str(name), span) for name, span in spans.iterrows())
        for (one, before), (other, after) in pairwise(spanned):
            if after["min"] <= before["max"]:
                raise UserError(
                    f"{one} and {other} overlap on node {str(node) or 'without a name'} from {after['min']:{_MINUTE}}"
                    f" to {min(before['max'], after['max']):{_MINUTE}}: their rows would count twice, name one of them."
                )
    return rows


def _write_containers(files: list[Path], out: Path) -> None:
    """Write the rows of containers of all queries into one file, with the columns that all of them have."""
    schemas = [pq.read_schema(file) for file in files]
    columns = [name for name in schemas[0].names if all(name in schema.names for schema in schemas)]
    schema = pa.schema([_plain(schemas[0].field(name)) for name in columns], schemas[0].metadata)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for file in files:
            for batch in read_batches(file, columns):
                writer.write_table(pa.Table.from_batches([batch]).select(columns).cast(schema))


def _plain(field: pa.Field) -> pa.Field:
    """Return a column of names without a dictionary: those of several files differ."""
    return field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field

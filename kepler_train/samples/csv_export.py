"""Samples as CSV: `<metric>.csv` with the Unix time (s), a column per label, and the value under the metric's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from kepler_train.samples.labels import LABEL_COLUMN
from kepler_train.samples.parquet import metrics_in
from kepler_train.samples.parquet_file import TIME, VALUE

TIMESTAMP = "timestamp"


def write_csv(samples: Path, folder: Path) -> None:
    """Write a folder of samples as a CSV file per metric, a chunk at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    for metric in metrics_in(samples):
        with pq.ParquetFile(samples / f"{metric}.parquet") as file:
            tables = _tables(file, metric)
            first = next(tables)
            with csv.CSVWriter(folder / f"{metric}.csv", first.schema) as out:
                out.write_table(first)
                for table in tables:
                    out.write_table(table)


def _tables(file: pq.ParquetFile, metric: str) -> Iterator[pa.Table]:
    """Yield a table per row group of the file, a row per sample."""
    for number in range(file.num_row_groups):
        rows = file.read_row_group(number).combine_chunks()
        row_of_sample = pc.list_parent_indices(rows.column(TIME))
        milliseconds = pc.list_flatten(rows.column(TIME)).cast(pa.int64())
        columns = {TIMESTAMP: pc.divide(milliseconds.cast(pa.float64()), 1000.0)}
        for name in rows.column_names:
            if name.startswith(LABEL_COLUMN):
                # A label may be called as one of our own columns.
                label = name.removeprefix(LABEL_COLUMN)
                columns[name if label in (TIMESTAMP, metric) else label] = (
                    rows.column(name).cast(pa.string()).take(row_of_sample)
                )
        columns[metric] = pc.list_flatten(rows.column(VALUE))
        yield pa.table(columns)

"""A table that may be larger than memory, and its way into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.extract.frame_metadata import with_metadata

# Rows that a row group of a Parquet file has by default: pyarrow cuts longer tables there.
_ROW_GROUP = 1 << 20


@dataclass(frozen=True)
class TableInParts:
    """The columns of a table, the number of its rows and of their nodes, and the rows, some at a time.

    There is at least one part, which may be empty. All have the same columns, and their rows are numbered on.
    """

    columns: list[str]
    rows: int
    nodes: int
    parts: Callable[[], Iterator[pd.DataFrame]]


def write_csv(table: TableInParts, file: Path, change: Callable[[pd.DataFrame], pd.DataFrame], *, index: bool) -> None:
    """Write a table as CSV, each part after a change, with the numbers of rows where `index` says so."""
    with file.open("w", encoding="utf-8", newline="") as out:
        for number, part in enumerate(table.parts()):
            change(part).to_csv(out, index=index, header=number == 0)


def write_parquet(table: TableInParts, file: Path, metadata: Mapping[str, Any]) -> None:
    """Write a table as Parquet, with units and metadata."""
    writer: pq.ParquetWriter | None = None
    try:
        for rows in _row_groups(table):
            rows = with_metadata(rows, metadata)
            writer = writer or pq.ParquetWriter(file, rows.schema)
            writer.write_table(rows)
            del rows  # or it would be kept while the next ones are gathered
    finally:
        if writer:
            writer.close()


def _row_groups(table: TableInParts) -> Iterator[pa.Table]:
    """Yield the rows cut where a table in one piece would be: its file does not tell how it was made."""
    waiting: list[pa.Table] = []
    count = 0
    for part in table.parts():
        rows = pa.Table.from_pandas(part, preserve_index=False)
        while count + len(rows) > _ROW_GROUP:
            fitting = _ROW_GROUP - count
            waiting.append(rows.slice(0, fitting))
            yield _in_one_piece(waiting)
            count, rows = 0, rows.slice(fitting)
        waiting.append(rows)
        count += len(rows)
    yield _in_one_piece(waiting)


def _in_one_piece(tables: list[pa.Table]) -> pa.Table:
    """Return tables as one, and empty the list: of its columns at most one is there twice."""
    schema, columns = tables[0].schema, [[column] for column in zip(*(table.columns for table in tables), strict=True)]
    tables.clear()
    pieces = [pa.concat_arrays([chunk for part in column.pop() for chunk in part.chunks]) for column in columns]
    return pa.table(pieces, schema=schema)

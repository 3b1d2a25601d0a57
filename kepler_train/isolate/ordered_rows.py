"""Container rows by node, time and container, where their files have one container after the other.

The rows of a week are more than memory has room for. So they are spread over files by time, as bare numbers, and each
file is small enough to be sorted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq

from kepler_train.arrays import Positions
from kepler_train.columns import CONTAINER, NODE, TIME, WORKLOAD, is_power
from kepler_train.extract.table_parts import TableInParts
from kepler_train.extract.training_table import as_named, unix_seconds
from kepler_train.isolate.containers import Batch, WindowIndex, batches

# Rows of a file, about: few enough for the processor's cache, many enough to be worth a file.
_ROWS = 1 << 16
_Records = npt.NDArray[np.void]


class OrderedRows:
    """Container rows whose window is in a frame of node rows; `complete` are their columns without missing values.

    They are kept in files below `scratch` as long as the tables made of them are read.
    """

    def __init__(self, files: Sequence[Path], node: pd.DataFrame, scratch: Path, rows: int = _ROWS) -> None:
        self._node = node.sort_values([NODE, TIME], ignore_index=True)
        self._scratch = scratch
        schemas = [pq.read_schema(file).names for file in files]
        labels = {TIME, NODE, CONTAINER, WORKLOAD}
        self._columns = [name for name in schemas[0] if name not in labels and all(name in names for names in schemas)]
        self._record = np.dtype([("row", "<i4"), ("code", "<i4"), ("values", "<f8", (len(self._columns),))])
        self._shown = np.zeros(len(node), dtype=bool)
        self._codes: dict[str, int] = {}
        self._counts: dict[int, int] = {}  # rows by the number of their file
        count = sum(pq.read_metadata(file).num_rows for file in files)
        self._windows_of_file = max(1, rows * len(node) // max(count, 1))
        lacking = np.zeros(len(self._columns), dtype=bool)
        for batch in batches(files, WindowIndex(self._node), self._columns):
            records = self._records(batch)
            lacking |= np.isnan(records["values"]).any(axis=0)
            self._shown[batch.rows] = True
            self._spread(records)
        self.complete = [name for name, lacks in zip(self._columns, lacking, strict=True) if not lacks]

    def _records(self, batch: Batch) -> _Records:
        """Return rows of numbers: the place of their window, the code of their container, and their values."""
        codes = np.array([self._codes.setdefault(name, len(self._codes)) for name in batch.names], dtype=np.int32)
        records = np.empty(len(batch.rows), self._record)
        records["row"], records["code"] = batch.rows, codes[batch.codes]
        for place, name in enumerate(self._columns):
            records["values"][:, place] = batch.features[name]
        return records

    def _spread(self, records: _Records) -> None:
        """Add rows to the files of their windows."""
        numbers = records["row"] // self._windows_of_file
        order = np.argsort(numbers, kind="stable")
        names, begins = np.unique(numbers[order], return_index=True)
        for number, part in zip(names.tolist(), np.split(records[order], begins[1:]), strict=True):
            with self._file(number).open("ab") as file:
                part.tofile(file)
            self._counts[number] = self._counts.get(number, 0) + len(part)

    def _file(self, number: int) -> Path:
        return self._scratch / f"rows-{number}"

    @cached_property
    def _names(self) -> tuple[pd.Series[str], Positions]:
        """Return the names of containers in order, and the place of each code among them."""
        names = sorted(self._codes)
        places = np.empty(len(names), dtype=np.intp)
        places[[self._codes[name] for name in names]] = np.arange(len(names))
        return pd.Series(names, dtype=self._node[NODE].dtype), places

    def table(self, features: list[str], source: str) -> TableInParts:
        """Return the rows with these features and the power of one source: their own, or else that of their node."""
        shown = self.windows
        power = [name for name in (*self._columns, *self._node.columns) if name.startswith(f"{source}/")]
        workload = [WORKLOAD] if (shown[WORKLOAD] != "").any() else []
        node = self._node.assign(**{TIME: unix_seconds(self._node[TIME], self._shown)})
        columns = [TIME, NODE, CONTAINER, *workload, *features, *dict.fromkeys(power)]

        def parts() -> Iterator[pd.DataFrame]:
            first = 0
            for records in self._sorted():
                yield as_named(self._frame(records, node, columns, first), source)
                first += len(records)

        empty = as_named(self._frame(np.empty(0, self._record), node, columns, 0), source)
        return TableInParts([str(name) for name in empty.columns], self.count, shown[NODE].nunique(), parts)

    @property
    def columns(self) -> list[str]:
        """Return the columns that rows of all files have, beside their labels."""
        return self._columns

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        return sum(self._counts.values())

    @property
    def windows(self) -> pd.DataFrame:
        """Return the node rows of the windows in which a container has a row."""
        return self._node[self._shown]

    def parts(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of whole windows, some windows at a time; a column that rows lack is that of their node."""
        first = 0
        for records in self._sorted():
            yield self._frame(records, self._node, columns, first)
            first += len(records)

    @property
    def power(self) -> list[str]:
        """Return the columns of the rows that hold power (W)."""
        return [name for name in self._columns if "/" in name and is_power(name)]

    def _sorted(self) -> Iterator[_Records]:
        """Yield the rows of one file after the other, each by window and container; none where there are none."""
        if not self._counts:
            yield np.empty(0, self._record)
        for number in sorted(self._counts):
            records = np.fromfile(self._file(number), self._record)
            yield records[np.lexsort((self._names[1][records["code"]], records["row"]))]

    def _frame(self, records: _Records, node: pd.DataFrame, columns: list[str], first: int) -> pd.DataFrame:
        names, places = self._names
        rows = records["row"]
        values: dict[str, Any] = {name: records["values"][:, place] for place, name in enumerate(self._columns)}
        values[CONTAINER] = names.take(places[records["code"]]).array
        taken = {name: values[name] if name in values else node[name].take(rows).array for name in columns}
        return pd.DataFrame(taken, index=pd.RangeIndex(first, first + len(records)))

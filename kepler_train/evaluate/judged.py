"""Held-out rows as columns of numbers: reading a few thousand rows with pandas takes longer than judging them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.arrays import Positions
from kepler_train.columns import NODE, TIME, WORKLOAD

HELD_OUT, MODEL, ROWS = "held_out.parquet", "model", "rows.parquet"
"""What training leaves of a model: its held-out predictions, the folder of its artifact, the features of its rows."""
_LABELS = (NODE, WORKLOAD, "protocol", "component")


class Coded(NamedTuple):
    """Names by row: numbers, and what each number stands for."""

    codes: Positions
    names: list[str]

    @classmethod
    def of(cls, column: pd.Series[Any]) -> Coded:
        """Return a column of names in that form."""
        codes, names = pd.factorize(column, sort=True)
        return cls(codes, [str(name) for name in names])

    def take(self, rows: Positions) -> Coded:
        """Return some of the rows, by position."""
        return Coded(self.codes[rows], self.names)

    def equal(self, name: str) -> npt.NDArray[np.bool_]:
        """Return which rows have that name."""
        return np.equal(self.codes, self.names.index(name) if name in self.names else -1)


class Piece(NamedTuple):
    """The rows, by position, of one component under one protocol."""

    protocol: str
    component: str
    rows: Positions


@dataclass(frozen=True)
class HeldOut:
    """When (ns since 1970) and where each row was, under which load, protocol and component, and its numbers."""

    time: npt.NDArray[np.int64]
    node: Coded
    workload: Coded
    protocol: Coded
    component: Coded
    columns: Mapping[str, npt.NDArray[Any]]  # measured, predicted, … (W)

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def pieces(self) -> list[Piece]:
        """Return the rows of every protocol and component, in the order in which they come."""
        components = self.component.names
        key = self.protocol.codes * len(components) + self.component.codes
        keys, first = np.unique(key, return_index=True)
        pieces = []
        for number in keys[np.argsort(first)].tolist():
            protocol, component = divmod(number, len(components))
            rows = np.flatnonzero(key == number)
            pieces.append(Piece(self.protocol.names[protocol], components[component], rows))
        return pieces

    @classmethod
    def of(cls, frame: pd.DataFrame) -> HeldOut:
        """Return the rows of a table with a column for each label and each number."""
        time = frame[TIME].to_numpy(dtype="datetime64[ns]").astype(np.int64)
        columns = {str(name): frame[name].to_numpy() for name in frame.columns if name not in (TIME, *_LABELS)}
        return cls(time, **{name: Coded.of(frame[name]) for name in _LABELS}, columns=columns)

    def frame(self) -> pd.DataFrame:
        """Return the rows as a table."""
        frame: pd.DataFrame = self._table().to_pandas()
        return frame

    def write(self, file: Path) -> None:
        """Write the rows; numbers hardly repeat, so only labels have dictionaries."""
        pq.write_table(self._table(), file, use_dictionary=list(_LABELS))

    @classmethod
    def read(cls, file: Path) -> HeldOut:
        """Read what `write` wrote."""
        with pq.ParquetFile(file) as source:
            table = source.read(use_threads=False).combine_chunks()
        labels = {}
        for name in _LABELS:
            column = table[name].chunk(0)
            labels[name] = Coded(column.indices.to_numpy().astype(np.intp), column.dictionary.to_pylist())
        numbers = [name for name in table.column_names if name not in (TIME, *_LABELS)]
        columns = {name: table[name].to_numpy() for name in numbers}
        return cls(table[TIME].cast(pa.int64()).to_numpy(), **labels, columns=columns)

    def _table(self) -> pa.Table:
        labels = {name: getattr(self, name) for name in _LABELS}
        coded = {
            name: pa.DictionaryArray.from_arrays(label.codes.astype(np.int32), label.names)
            for name, label in labels.items()
        }
        return pa.table({TIME: pa.array(self.time).cast(pa.timestamp("ns", "UTC")), **coded, **self.columns})

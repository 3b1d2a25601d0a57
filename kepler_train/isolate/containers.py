"""Container rows in batches: millions of them are read with the memory of one batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.catalog import catalog

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
BATCH_ROWS = 1 << 18
_NODE, _CONTAINER = "node", "container"


@dataclass(frozen=True)
class Batch:
    """Some container rows: where the row of the node and window of each is, its container and its features (1/s)."""

    rows: Positions
    codes: Positions
    names: list[str]  # of containers, by code
    features: dict[str, Floats]

    def having(self, of_name: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """The rows of the containers whose name has a property."""
        return np.array([of_name(name) for name in self.names], dtype=bool)[self.codes]


class Windows:
    """The windows of a node frame, so that the one of each container row is found."""

    def __init__(self, node: pd.DataFrame) -> None:
        times = node["time"].dt.as_unit("ns").astype("int64").to_numpy()
        self._of: dict[str, tuple[Positions, Positions]] = {}
        for name, own in node.groupby("node").indices.items():
            positions = np.asarray(own, dtype=np.int64)
            order = positions[np.argsort(times[positions], kind="stable")]
            self._of[str(name)] = times[order], order

    def positions(self, nodes: list[str], codes: Positions, times: Positions) -> Positions:
        """The place in the node frame of each (node, time); −1 where the frame has no such row."""
        found = np.full(len(times), -1, dtype=np.int64)
        for code in np.unique(codes):
            there, order = self._of.get(nodes[code], (np.empty(0, np.int64), np.empty(0, np.int64)))
            own = np.flatnonzero(codes == code)
            at = np.searchsorted(there, times[own])
            at[at == len(there)] = 0
            hit = there[at] == times[own] if len(there) else np.zeros(len(own), dtype=bool)
            found[own[hit]] = order[at[hit]]
        return found


def batches(files: Sequence[Path], windows: Windows, features: list[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
    """The container rows whose window the node frame has, so many at a time."""
    columns = ["time", _NODE, _CONTAINER, *features]
    for batch in itertools.chain.from_iterable(read_batches(file, columns, size) for file in files):
        times = pc.cast(batch.column("time"), pa.timestamp("ns", tz="UTC")).cast(pa.int64()).to_numpy()
        nodes, node_codes = _coded(batch.column(_NODE))
        rows = windows.positions(nodes, node_codes, times)
        there = rows >= 0
        names, codes = _coded(batch.column(_CONTAINER))
        yield Batch(
            rows[there],
            codes[there],
            names,
            {name: np.asarray(batch.column(name), dtype=np.float64)[there] for name in features},
        )


def container_names(files: Sequence[Path]) -> list[str]:
    """Every container that has a row."""
    found: set[str] = set()
    for batch in itertools.chain.from_iterable(read_batches(file, [_CONTAINER]) for file in files):
        names, codes = _coded(batch.column(_CONTAINER))
        found.update(names[code] for code in np.unique(codes))
    return sorted(found)


def read_batches(file: Path, columns: list[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Columns of a file of container rows, so many rows at a time; names of nodes and containers stay coded."""
    # Columns read ahead are kept until the end of the file.
    with pq.ParquetFile(file, read_dictionary=[_NODE, _CONTAINER], pre_buffer=False) as source:
        yield from source.iter_batches(size, columns=columns)


def _coded(column: pa.Array) -> tuple[list[str], Positions]:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(coded.indices, dtype=np.int64)


def adds_up(feature: str) -> bool:
    """Whether the values of containers add up to that of their node; else every container has the node's value."""
    return all(one.share_by for one in catalog().of_node(feature))


def pod_of(container: str) -> str:
    """The pod in a container's id `container_id/pod_name/container_name/container_namespace`."""
    parts = container.split("/")
    return parts[1] if len(parts) == 4 else parts[0]

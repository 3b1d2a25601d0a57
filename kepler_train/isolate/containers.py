"""Container rows in batches: millions of them are read with the memory of one batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.arrays import Bools, Floats, Positions
from kepler_train.columns import CONTAINER, NODE, TIME

BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Batch:
    """Some container rows: where the row of the node and window of each is, its container and its features (1/s)."""

    rows: Positions
    codes: Positions
    names: list[str]  # of containers, by code
    features: dict[str, Floats]

    def having(self, predicate: Callable[[str], bool]) -> Bools:
        """Return which rows are of containers whose name the predicate accepts."""
        return np.array([predicate(name) for name in self.names], dtype=bool)[self.codes]


class WindowIndex:
    """The windows of a node frame, so that the one of each container row is found."""

    def __init__(self, node: pd.DataFrame) -> None:
        times = node[TIME].dt.as_unit("ns").astype("int64").to_numpy()
        self._by_node: dict[str, tuple[Positions, Positions]] = {}
        for name, indices in node.groupby(NODE).indices.items():
            positions = np.asarray(indices, dtype=np.intp)
            order = positions[np.argsort(times[positions], kind="stable")]
            self._by_node[str(name)] = times[order], order

    def positions(self, nodes: list[str], codes: Positions, times: Positions) -> Positions:
        """Return the place in the node frame of each (node, time); −1 where the frame has no such row."""
        positions = np.full(len(times), -1, dtype=np.intp)
        for code in np.unique(codes):
            if nodes[code] not in self._by_node:
                continue
            node_times, order = self._by_node[nodes[code]]
            rows = np.flatnonzero(codes == code)
            places = np.searchsorted(node_times, times[rows])
            places[places == len(node_times)] = 0
            hit = node_times[places] == times[rows]
            positions[rows[hit]] = order[places[hit]]
        return positions


def batches(
    files: Sequence[Path], windows: WindowIndex, features: list[str], size: int = BATCH_ROWS
) -> Iterator[Batch]:
    """Yield the container rows whose window the node frame has, `size` at a time."""
    columns = [TIME, NODE, CONTAINER, *features]
    for batch in itertools.chain.from_iterable(read_batches(file, columns, size) for file in files):
        times = pc.cast(batch.column(TIME), pa.timestamp("ns", tz="UTC")).cast(pa.int64()).to_numpy()
        nodes, node_codes = _coded(batch.column(NODE))
        rows = windows.positions(nodes, node_codes, times)
        known = rows >= 0
        names, codes = _coded(batch.column(CONTAINER))
        values = {name: np.asarray(batch.column(name), dtype=np.float64)[known] for name in features}
        yield Batch(rows[known], codes[known], names, values)


def container_names(files: Sequence[Path]) -> list[str]:
    """Return every container that has a row."""
    containers: set[str] = set()
    for batch in itertools.chain.from_iterable(read_batches(file, [CONTAINER]) for file in files):
        names, codes = _coded(batch.column(CONTAINER))
        containers.update(names[code] for code in np.unique(codes))
    return sorted(containers)


def read_batches(file: Path, columns: list[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield columns of a file of container rows, `size` rows at a time; names of nodes and containers stay coded."""
    # Columns read ahead are kept until the end of the file.
    with pq.ParquetFile(file, read_dictionary=[NODE, CONTAINER], pre_buffer=False) as source:
        yield from source.iter_batches(size, columns=columns)


def _coded(column: pa.Array) -> tuple[list[str], Positions]:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(coded.indices, dtype=np.intp)


def pod_of(container: str) -> str:
    """Return the pod in a container's id `container_id/pod_name/container_name/container_namespace`."""
    parts = container.split("/")
    return parts[1] if len(parts) == 4 else parts[0]

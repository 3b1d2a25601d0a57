"""Rows as Arrow tables: one for the windows of a node, and one for the containers that worked in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from kepler_train.arrays import Floats, Positions
from kepler_train.columns import CONTAINER, NODE, TIME, WORKLOAD
from kepler_train.samples.arrow import TIMES, coded_words, from_memory, milliseconds, words_by_code


def node_rows(ends: Floats, node: str, workloads: Sequence[str], columns: Mapping[str, Floats]) -> pa.Table:
    """Return a row per window: its end (Unix s), the node, the workload, and the values of the columns."""
    times = from_memory(TIMES, milliseconds(ends))
    head = {TIME: times, NODE: _one_word(node, len(ends)), WORKLOAD: coded_words(workloads)}
    return _table(head, columns)


def container_rows(
    ends: Floats,
    window: Positions,
    node: str,
    containers: Sequence[str],
    place: Positions,
    columns: Mapping[str, Floats],
) -> pa.Table:
    """Return a row per window, by its number in `ends` (Unix s), and container, by its place in `containers`."""
    times = from_memory(TIMES, milliseconds(ends)[window])
    names = words_by_code(place.astype(np.int32), containers)
    return _table({TIME: times, NODE: _one_word(node, len(window)), CONTAINER: names}, columns)


def _one_word(word: str, rows: int) -> pa.DictionaryArray:
    return words_by_code(np.zeros(rows, dtype=np.int32), [word])


def _table(head: dict[str, pa.Array], columns: Mapping[str, Floats]) -> pa.Table:
    values = {name: from_memory(pa.float64(), np.ascontiguousarray(column)) for name, column in columns.items()}
    return pa.table(head | values)

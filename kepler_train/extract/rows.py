"""Rows as Arrow tables: a table for the windows of a node, and one for the containers that worked in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from kepler_train.extract.clock import Numbers
from kepler_train.extract.counters import Floats
from kepler_train.samples.arrow import TIMES, coded_words, from_memory, milliseconds, words_by_code


def node_rows(ends: Floats, node: str, workloads: Sequence[str], columns: Mapping[str, Floats]) -> pa.Table:
    """A row per window: its end (Unix s), the node, the workload, and the values of the columns."""
    times = from_memory(TIMES, milliseconds(ends))
    head = {"time": times, "node": _one_word(node, len(ends)), "workload": coded_words(workloads)}
    return _table(head, columns)


def container_rows(
    ends: Floats, window: Numbers, node: str, containers: Sequence[str], place: Numbers, columns: Mapping[str, Floats]
) -> pa.Table:
    """A row per window, by its number in `ends` (Unix s), and container, by its place in `containers`."""
    times = from_memory(TIMES, milliseconds(ends)[window])
    named = words_by_code(place.astype(np.int32), containers)
    return _table({"time": times, "node": _one_word(node, len(window)), "container": named}, columns)


def _one_word(word: str, times: int) -> pa.DictionaryArray:
    return words_by_code(np.zeros(times, dtype=np.int32), [word])


def _table(head: dict[str, pa.Array], columns: Mapping[str, Floats]) -> pa.Table:
    values = {name: from_memory(pa.float64(), np.ascontiguousarray(column)) for name, column in columns.items()}
    return pa.table(head | values)

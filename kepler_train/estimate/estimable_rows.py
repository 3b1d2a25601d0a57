"""Rows to estimate, which may be more than memory has room for: some whole windows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from kepler_train.columns import CONTAINER, NODE, TIME, WORKLOAD
from kepler_train.extract.training_table import unix_seconds
from kepler_train.isolate.ordered_rows import OrderedRows

LABELS = (TIME, NODE, CONTAINER, WORKLOAD)


@dataclass(frozen=True)
class EstimableRows:
    """Rows in parts, of which each holds whole windows: containers of a window share the power of their node.

    `labels` are the columns of labels that any row has a value in. There is at least one part, which may be empty.
    """

    count: int
    nodes: int
    labels: list[str]
    in_whole_seconds: bool
    parts: Callable[[], Iterator[pd.DataFrame]]

    @classmethod
    def of(cls, rows: pd.DataFrame) -> EstimableRows:
        """Return rows that are in memory, as one part."""
        return cls(len(rows), rows[NODE].nunique(), _labels(rows), _are_whole(rows[TIME]), lambda: iter([rows]))

    @classmethod
    def ordered(cls, rows: OrderedRows) -> EstimableRows:
        """Return rows of containers, by node, time and container."""
        windows = rows.windows
        labels = [name for name in LABELS if name == CONTAINER or name in _labels(windows)]
        columns = [*LABELS, *rows.columns]
        nodes = windows[NODE].nunique()
        return cls(rows.count, nodes, labels, _are_whole(windows[TIME]), lambda: rows.parts(columns))

    def together(self) -> pd.DataFrame:
        """Return all rows at once."""
        return pd.concat(self.parts(), ignore_index=True)

    def unix_seconds(self, times: pd.Series[pd.Timestamp]) -> pd.Series[float] | pd.Series[int]:
        """Return times of a part as Unix seconds: integers where those of all parts are whole."""
        seconds = unix_seconds(times)
        return seconds if self.in_whole_seconds else seconds.astype("float64")


def _labels(rows: pd.DataFrame) -> list[str]:
    return [name for name in LABELS if name in rows.columns and (rows[name] != "").any()]


def _are_whole(times: pd.Series[pd.Timestamp]) -> bool:
    return bool(pd.api.types.is_integer_dtype(unix_seconds(times)))

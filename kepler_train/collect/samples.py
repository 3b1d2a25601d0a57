"""Raw samples on disk: a Parquet file per metric, a row per series and chunk of time.

Labels are dictionary-coded columns; `time` (ms, UTC) and `value` are lists of equal length, sorted by time. A row
group is one chunk of time, so a reader needs the memory of a chunk, not of the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.errors import DataError, UserError

TIME, VALUE = "time", "value"
# A step of up to this many scrape intervals ends in a late scrape; a longer one is a gap, since one is missing.
LATE = 1.75


def schema(metric: str, labels: Iterable[str]) -> pa.Schema:
    """The columns of a metric's file."""
    fields = [pa.field(f"label.{name}", pa.dictionary(pa.int32(), pa.string())) for name in sorted(labels)]
    fields.append(pa.field(TIME, pa.list_(pa.timestamp("ms", tz="UTC"))))
    fields.append(pa.field(VALUE, pa.list_(pa.float64())))
    return pa.schema(fields, metadata={"metric": metric})


def table(series: list[dict[str, Any]], columns: pa.Schema, after: float = -np.inf, until: float = np.inf) -> pa.Table:
    """Rows of one chunk from a Prometheus answer: the samples with after < time ≤ until (Unix s)."""
    rows: list[tuple[Mapping[str, str], npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
    for one in series:
        labels, times, values = _decoded(one, columns)
        inside = (times > np.rint(after * 1000)) & (times <= np.rint(until * 1000))
        if inside.any():
            rows.append((labels, times[inside], values[inside]))
    offsets = np.concatenate([[0], np.cumsum([len(times) for _, times, _ in rows])]).astype(np.int32)
    times = np.concatenate([times for _, times, _ in rows]) if rows else np.array([], dtype=np.int64)
    values = np.concatenate([values for _, _, values in rows]) if rows else np.array([], dtype=np.float64)
    arrays: list[pa.Array] = [
        pa.array([labels.get(name.removeprefix("label.")) for labels, _, _ in rows], pa.string()).dictionary_encode()
        for name in columns.names
        if name.startswith("label.")
    ]
    arrays.append(pa.ListArray.from_arrays(offsets, pa.array(times).cast(pa.timestamp("ms", tz="UTC"))))
    arrays.append(pa.ListArray.from_arrays(offsets, pa.array(values)))
    return pa.table(arrays, schema=columns)


def _decoded(
    one: dict[str, Any], columns: pa.Schema
) -> tuple[Mapping[str, str], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Labels, times (ms) and values of one series of an answer, sorted by time, each time once."""
    try:
        labels, pairs = one["metric"], one["values"]
        # Prometheus prints milliseconds as a decimal fraction; rounding gives the scrape's own stamp back.
        times = np.rint(np.array([time for time, _ in pairs], dtype=np.float64) * 1000).astype(np.int64)
        values = np.array([value for _, value in pairs]).astype(np.float64)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        metric = (columns.metadata or {}).get(b"metric", b"a metric").decode()
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"A series of {metric} cannot be read: {said}.") from None
    if (np.diff(times) <= 0).any():
        times, first = np.unique(times, return_index=True)
        values = values[first]
    return labels, times, values


class Series:
    """One series: its labels, times (Unix s) and values, sorted by time without doubles."""

    __slots__ = ("labels", "times", "values")

    def __init__(
        self, labels: Mapping[str, str], times: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
    ) -> None:
        self.labels, self.times, self.values = labels, times, values


def read_series(folder: Path, metric: str) -> list[Series]:
    """All series of a metric; empty when it was not collected."""
    file = folder / f"{metric}.parquet"
    if not file.exists():
        return []
    content = _read(file)
    names = [name for name in content.column_names if name.startswith("label.")]
    labels = [
        {name.removeprefix("label."): value for name, value in row.items() if value is not None}
        for row in content.select(names).to_pylist()
    ]
    pieces: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for row, own in enumerate(labels):
        pieces.setdefault(tuple(sorted(own.items())), []).append(row)
    content = content.combine_chunks()
    times, values = content.column(TIME), content.column(VALUE)
    found = []
    for key, rows in pieces.items():
        stamps = np.concatenate([times[row].values.cast(pa.int64()).to_numpy() for row in rows])
        readings = np.concatenate([values[row].values.to_numpy() for row in rows])
        stamps, first = np.unique(stamps, return_index=True)
        found.append(Series(dict(key), stamps / 1000.0, readings[first]))
    return found


def metrics_in(folder: Path) -> list[str]:
    """The metrics that were collected."""
    return sorted(file.stem for file in folder.glob("*.parquet"))


def window_of(folder: Path) -> tuple[datetime, datetime]:
    """The first and the last sample of all metrics (UTC)."""
    times = [pc.list_flatten(_read(folder / f"{metric}.parquet").column(TIME)) for metric in metrics_in(folder)]
    edges = [pc.min_max(stamps) for stamps in times if len(stamps)]
    if not edges:
        raise DataError(f"{folder} has no samples.")
    return min(edge["min"].as_py() for edge in edges), max(edge["max"].as_py() for edge in edges)


def _read(file: Path) -> pa.Table:
    try:
        content = pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{file} is not a Parquet file of samples: {error}.") from None
    if not {TIME, VALUE} <= set(content.column_names):
        raise UserError(f"{file} is not a Parquet file of samples: it has no columns {TIME} and {VALUE}.")
    return content

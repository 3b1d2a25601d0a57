"""Raw samples on disk: a Parquet file per metric, a row per series and chunk of time.

Labels are dictionary-coded columns; `time` (ms, UTC) and `value` are lists of equal length, sorted by time; `doubled`
counts the samples that were dropped because their series had one of the same time. A row group is one chunk, so a
reader needs the memory of a chunk, not of the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.errors import DataError
from kepler_train.samples.arrow import TIMES, are_valid, as_numpy, coded_words, from_memory
from kepler_train.samples.decoding import DecodedSeries, in_order
from kepler_train.samples.labels import LABEL_COLUMN, Labels
from kepler_train.samples.parquet_file import DOUBLED, TIME, VALUE, is_label, opened, read_group, samples_in

# A step of up to this many scrape intervals ends in a late scrape; a longer one is a gap, since one is missing.
LATE = 1.75


def schema(metric: str, labels: Iterable[str]) -> pa.Schema:
    """Return the columns of a metric's file."""
    fields = [pa.field(f"{LABEL_COLUMN}{name}", pa.dictionary(pa.int32(), pa.string())) for name in sorted(labels)]
    fields.append(pa.field(TIME, pa.list_(TIMES)))
    fields.append(pa.field(VALUE, pa.list_(pa.float64())))
    fields.append(pa.field(DOUBLED, pa.int64()))
    return pa.schema(fields, metadata={"metric": metric})


def writer(folder: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """Return a writer of a metric's file: times as differences, values byte by byte, which packs them twice as well."""
    metric = columns.metadata[b"metric"].decode()
    return pq.ParquetWriter(
        folder / f"{metric}.parquet",
        columns,
        compression="zstd",
        use_dictionary=[name for name in columns.names if is_label(name)],
        column_encoding={f"{TIME}.list.element": "DELTA_BINARY_PACKED", f"{VALUE}.list.element": "BYTE_STREAM_SPLIT"},
    )


def table(
    series: Sequence[DecodedSeries], columns: pa.Schema, after: float = -np.inf, until: float = np.inf
) -> pa.Table:
    """Return the rows of one chunk: of each series the samples with after < time ≤ until (Unix s)."""
    spans = [(member, *_inside(member.times, after, until)) for member in series]
    return _rows([(member, first, last) for member, first, last in spans if first < last], columns)


def _rows(rows: Sequence[tuple[DecodedSeries, int, int]], columns: pa.Schema) -> pa.Table:
    lengths = [last - first for _, first, last in rows]
    offsets = from_memory(pa.int32(), np.cumsum([0, *lengths], dtype=np.int32))
    times = np.concatenate([np.empty(0, np.int64), *(series.times[first:last] for series, first, last in rows)])
    values = np.concatenate([np.empty(0), *(series.values[first:last] for series, first, last in rows)])
    arrays = [
        coded_words([series.labels.get(name.removeprefix(LABEL_COLUMN)) for series, _, _ in rows])
        for name in columns.names
        if is_label(name)
    ]
    arrays.append(pa.ListArray.from_arrays(offsets, from_memory(columns.field(TIME).type.value_type, times)))
    arrays.append(pa.ListArray.from_arrays(offsets, from_memory(pa.float64(), values)))
    arrays.append(from_memory(pa.int64(), np.array([series.doubled for series, _, _ in rows], dtype=np.int64)))
    return pa.table(arrays, schema=columns)


def label_table(labelled: Iterable[Labels], columns: pa.Schema) -> pa.Table:
    """Return rows of series of which only the labels are known."""
    nothing = np.empty(0, np.int64), np.empty(0)
    rows = [DecodedSeries(dict(labels), *nothing) for labels in labelled]
    return _rows([(series, 0, 0) for series in rows], columns)


def _inside(times: npt.NDArray[np.int64], after: float, until: float) -> tuple[int, int]:
    first = times.searchsorted(round(after * 1000), side="right") if np.isfinite(after) else 0
    last = times.searchsorted(round(until * 1000), side="right") if np.isfinite(until) else len(times)
    return int(first), int(last)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One series: its labels, times (Unix s) and values, sorted by time; `doubled` repeated times were dropped."""

    labels: Labels
    times: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    doubled: int = 0


class MetricFile:
    """The file of one metric: the labels of its series at once, their samples on demand."""

    def __init__(self, folder: Path, metric: str) -> None:
        self.metric, self.samples = metric, 0
        self._path = folder / f"{metric}.parquet"
        self.labels: list[dict[str, str]] = []
        self._numbers: list[npt.NDArray[np.int64]] = []
        if self._path.exists():
            with opened(self._path) as file:
                numbers, self.labels = _series_of_rows(_labels(file))
                groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            self.samples = sum(map(samples_in, groups))
            self._numbers = np.split(numbers, np.cumsum([group.num_rows for group in groups])[:-1])

    def read(self, numbers: Sequence[int]) -> list[Series]:
        """Return the series of these numbers, in their order, which is that of `labels`."""
        if not len(numbers):
            return []
        rank = np.full(len(self.labels), -1)
        rank[numbers] = np.arange(len(numbers))
        taken = [rank[rows_of_group] >= 0 for rows_of_group in self._numbers]
        with opened(self._path) as file:
            rows = [
                part if mask.all() else part.take(from_memory(pa.int64(), np.flatnonzero(mask)))
                for part, mask in ((self._group(file, n), mask) for n, mask in enumerate(taken) if mask.any())
            ]
        ranks = np.concatenate(
            [rank[rows_of_group[mask]] for rows_of_group, mask in zip(self._numbers, taken, strict=True)]
        )
        return list(_series(pa.concat_tables(rows), ranks, [self.labels[number] for number in numbers]))

    def _group(self, file: pq.ParquetFile, number: int) -> pa.Table:
        """Return the columns of a row group that are no labels."""
        return read_group(
            file, number, self._path, [name for name in (TIME, VALUE, DOUBLED) if name in file.schema_arrow.names]
        )

    def in_parts(self, most: int = 2_000_000) -> Iterator[Series]:
        """Yield all series, with the memory of about `most` samples."""
        at_once = max(1, most * len(self.labels) // max(self.samples, 1))
        for first in range(0, len(self.labels), at_once):
            yield from self.read(range(first, min(first + at_once, len(self.labels))))


def read_series(folder: Path, metric: str) -> list[Series]:
    """Return all series of a metric; nothing when it was not collected."""
    file = MetricFile(folder, metric)
    return file.read(range(len(file.labels)))


def series_in_parts(folder: Path, metric: str, most: int = 2_000_000) -> Iterator[Series]:
    """Yield the series of a metric, with the memory of about `most` samples."""
    return MetricFile(folder, metric).in_parts(most)


def _labels(file: pq.ParquetFile) -> pa.Table:
    labels = file.read([name for name in file.schema_arrow.names if is_label(name)], use_threads=False)
    labels.validate(full=True)  # a broken file may have numbers of words that it does not have
    return labels


def _series(content: pa.Table, numbers: npt.NDArray[np.int64], labels: list[dict[str, str]]) -> Iterator[Series]:
    """Yield series from rows, of which each belongs to the series with its number."""
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")  # the rows of a series one after the other, as they were written
        content, numbers = content.take(from_memory(pa.int64(), order)), numbers[order]
    times, values = (content.column(name).combine_chunks() for name in (TIME, VALUE))
    lengths, stamps = as_numpy(times.value_lengths(), np.int32), as_numpy(times.flatten(), np.int64)
    counts, dropped = (
        np.bincount(numbers, weights, len(labels)).astype(int).tolist() for weights in (lengths, _doubled(content))
    )
    ordered = in_order(labels, stamps, as_numpy(values.flatten(), np.float64), counts)
    times_before, seconds = np.empty(0, np.int64), np.empty(0)
    for series, before in zip(ordered, dropped, strict=True):
        # Series of one exporter are scraped together: they share one array of times.
        if len(series.times) != len(times_before) or (series.times != times_before).any():
            times_before, seconds = series.times, series.times / 1000.0
        yield Series(series.labels, seconds, series.values, series.doubled + before)


def _series_of_rows(content: pa.Table) -> tuple[npt.NDArray[np.int64], list[dict[str, str]]]:
    """Return for each row the number of its series, and the labels of the series in the order of their first rows."""
    names = [name for name in content.column_names if is_label(name)]
    columns = [content.column(name).dictionary_encode().unify_dictionaries().combine_chunks() for name in names]
    codes = [_codes(column.indices) for column in columns]
    numbers = np.zeros(len(content), dtype=np.int64)
    for codes_of_label, column in zip(codes, columns, strict=True):
        numbers = np.unique(numbers * (len(column.dictionary) + 1) + codes_of_label + 1, return_inverse=True)[1]
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    labels: list[dict[str, str]] = [{} for _ in first]
    for name, codes_of_label, column in zip(names, codes, columns, strict=True):
        label, words = name.removeprefix(LABEL_COLUMN), column.dictionary.to_pylist()
        for labels_of_series, code in zip(labels, codes_of_label[np.sort(first)].tolist(), strict=True):
            if code >= 0:
                labels_of_series[label] = words[code]
    return rank[numbers], labels


def _codes(indices: pa.Array) -> npt.NDArray[np.int64]:
    """Return the numbers of words; −1 for null."""
    return np.where(are_valid(indices), as_numpy(indices, np.int32), -1)


def _doubled(content: pa.Table) -> npt.NDArray[np.int64]:
    is_counted = DOUBLED in content.column_names  # not in the files of earlier versions
    return as_numpy(content.column(DOUBLED), np.int64) if is_counted else np.zeros(len(content), np.int64)


def metrics_in(folder: Path) -> list[str]:
    """Return the metrics that were collected."""
    return sorted(file.stem for file in folder.glob("*.parquet"))


def window_of(folder: Path) -> tuple[datetime, datetime]:
    """Return the time of the first and of the last sample of all metrics (UTC)."""
    edges = [edge for metric in metrics_in(folder) for edge in _edges(folder / f"{metric}.parquet")]
    if not edges:
        raise DataError(f"{folder} has no samples.")
    first, last = (datetime.fromtimestamp(edge / 1000, UTC) for edge in (min(edges), max(edges)))
    return first, last


def _edges(path: Path) -> list[int]:
    """Return the time of the first and of the last sample of each chunk of a metric (Unix ms)."""
    edges: list[int] = []
    with opened(path) as file:
        for number in range(file.num_row_groups):
            content = read_group(file, number, path, [TIME]).column(TIME).combine_chunks()
            stamps = as_numpy(content.flatten(), np.int64)
            edges += [int(stamps.min()), int(stamps.max())] if len(stamps) else []
    return edges

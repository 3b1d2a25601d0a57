"""Download samples: chunk by chunk, several requests at once, to a Parquet file per metric."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.errors import TryAgain
from kepler_train.events import progress, warn
from kepler_train.query.chunks import LARGEST_CHUNK, Chunk, MetricDownload, split_window
from kepler_train.query.prometheus import LARGEST_ANSWER, Prometheus
from kepler_train.query.server_errors import TooMuchAtOnce, TooSlow
from kepler_train.samples.decoding import Answer
from kepler_train.samples.labels import LABEL_COLUMN, METRIC_NAME
from kepler_train.samples.parquet import table, writer
from kepler_train.samples.parquet_file import VALUE

PARALLEL_REQUESTS = 4
_MS_PER_HOUR = 3600_000


@dataclass(frozen=True)
class ChunkRows:
    """The rows of a chunk, its samples, and those that were dropped: of a repeated time, or of one outside."""

    table: pa.Table
    samples: int
    doubled: int
    outside: int


def download(
    server: Prometheus, metrics: list[MetricDownload], start: int, end: int, out: Path, pool: ThreadPoolExecutor
) -> dict[str, int]:
    """Write the samples of [start, end] (Unix ms), a file per metric that has any; return their number by metric."""
    out.mkdir(parents=True, exist_ok=True)
    chunks = itertools.chain.from_iterable(split_window(metric, start, end) for metric in metrics)
    samples: dict[str, int] = {}
    doubled = outside = 0
    with progress("query", len(metrics) * (end - start) / _MS_PER_HOUR, "hours of metrics") as shown:
        rows_of_chunks = _in_order(server, chunks, pool)
        for metric, of_metric in itertools.groupby(rows_of_chunks, lambda pair: pair[0].download.metric):
            with ExitStack() as file:
                parquet: pq.ParquetWriter | None = None
                for chunk, rows in of_metric:
                    if rows.samples:
                        parquet = parquet or file.enter_context(writer(out, chunk.download.columns))
                        parquet.write_table(rows.table)
                        samples[metric] = samples.get(metric, 0) + rows.samples
                    doubled, outside = doubled + rows.doubled, outside + rows.outside
                    shown.advance(chunk.length / _MS_PER_HOUR, f"{sum(samples.values()):,} samples")
    if doubled:
        warn(f"query: {doubled:,} samples had the time of another one of their series and were dropped.")
    if outside:
        warn(f"query: {outside:,} samples lay outside the time that was asked for and were left out.")
    return samples


def _in_order(
    server: Prometheus, chunks: Iterator[Chunk], pool: ThreadPoolExecutor
) -> Iterator[tuple[Chunk, ChunkRows]]:
    """Yield chunks with their rows; only a few are downloaded ahead of the one that is written, to bound memory."""

    def submitted(chunk: Chunk) -> tuple[Chunk, Future[ChunkRows | tuple[Chunk, Chunk]]]:
        return chunk, pool.submit(_chunk_rows, server, chunk)

    pending = deque(map(submitted, itertools.islice(chunks, 2 * PARALLEL_REQUESTS)))
    while pending:
        chunk, future = pending.popleft()
        rows = future.result()
        if isinstance(rows, tuple):
            pending.extendleft(reversed([submitted(half) for half in rows]))
        else:
            yield chunk, rows
            pending.extend(map(submitted, itertools.islice(chunks, 1)))


def _chunk_rows(server: Prometheus, chunk: Chunk) -> ChunkRows | tuple[Chunk, Chunk]:
    """Return the rows of a chunk, or its halves when it is too large or too slow for the server."""
    try:
        answer = _request(server, chunk, LARGEST_CHUNK if chunk.halves(slow=False) else LARGEST_ANSWER)
    except (TooMuchAtOnce, TooSlow) as refused:
        halves = chunk.halves(slow=isinstance(refused, TooSlow))
        if halves is None:
            raise
        chunk.download.shorten(chunk.length)
        return halves
    chunk.download.adapt(sum(len(series.times) for series in answer.series), chunk.length)
    _check_labels(server, chunk.download, answer)
    rows = table(answer.series, chunk.download.columns, chunk.after / 1000, chunk.until / 1000)
    samples = pc.sum(pc.list_value_length(rows.column(VALUE))).as_py() or 0
    doubled = sum(series.doubled for series in answer.series)
    return ChunkRows(rows, samples, doubled, _outside(chunk, answer))


def _outside(chunk: Chunk, answer: Answer) -> int:
    """Count the samples that nobody asked for; one millisecond before the chunk is asked for too."""
    edges = chunk.after - 1, chunk.until + 1
    inside = sum(int(np.diff(series.times.searchsorted(edges))[0]) for series in answer.series)
    return sum(len(series.times) for series in answer.series) - inside


def _request(server: Prometheus, chunk: Chunk, most: int) -> Answer:
    selector, step = chunk.download.selector, chunk.download.step
    if not step:
        return server.raw(selector, chunk.after / 1000, chunk.until / 1000, most)
    first, last = chunk.points()
    if first > last:
        return Answer([], [])
    return server.resampled(selector, first / 1000, last / 1000, step / 1000, most)


def _check_labels(server: Prometheus, download: MetricDownload, answer: Answer) -> None:
    """Refuse a label that appeared after the series were listed: it has no column and would be lost."""
    labels = {name for series in answer.series for name in series.labels if name != METRIC_NAME}
    new = [name for name in sorted(labels) if f"{LABEL_COLUMN}{name}" not in download.columns.names]
    if new:
        raise TryAgain(
            f"Prometheus at {server.url} has got series of {download.metric} with new labels during the query"
            f" ({', '.join(new)}): run it again."
        )

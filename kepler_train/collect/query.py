"""Query: raw samples of a window from Prometheus, in chunks, several requests at once, to Parquet."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.collect.prometheus import Prometheus, TooMuchAtOnce
from kepler_train.collect.samples import VALUE, schema, table
from kepler_train.collect.wanted import Wanted
from kepler_train.errors import DataError
from kepler_train.events import progress, say
from kepler_train.workspace import Figures

PARALLEL = 4
# A chunk is sized so that its answer stays near a million samples even at a scrape every 5 s.
_SAMPLES_PER_CHUNK = 1_000_000
_ASSUMED_SCRAPE = 5.0  # s
_LONGEST, _SHORTEST = 6 * 3600.0, 60.0  # s


@dataclass(frozen=True)
class Chunk:
    """The samples of one selector with after < time ≤ until (Unix s)."""

    selector: str
    columns: pa.Schema
    after: float
    until: float


def query(server: Prometheus, want: Wanted, nodes: list[str], start: float, end: float, out: Path) -> Figures:
    """Write every raw sample of the window, a file per metric, and answer what was found."""
    start, end = round(start, 3), round(end, 3)  # Prometheus knows milliseconds, and so do the edges of chunks
    found: dict[str, list[Chunk]] = {}
    series = 0
    for metric in want.metrics:
        labels = server.series(want.selector(metric, nodes), start, end)
        if not labels:
            say(f"query: {metric} has no series in the window.")
            continue
        series += len(labels)
        names = {name for one in labels for name in one} - {"__name__"}
        found[metric] = list(_chunks(want.selector(metric, nodes), schema(metric, names), len(labels), start, end))
    missing = [metric for metric in want.energy if metric not in found]
    if len(missing) == len(want.energy):
        where = f" of the nodes {', '.join(nodes)}" if nodes else ""
        raise DataError(
            f"Prometheus at {server.url} has no energy counters{where} in the window: {', '.join(missing)}."
        )
    samples = _download(server, found, out)
    if not samples:
        raise DataError(f"Prometheus at {server.url} has series but no samples in the window.")
    return {"metrics": len(found), "series": series, "samples": samples, "dialect": want.dialect}


def _chunks(selector: str, columns: pa.Schema, series: int, start: float, end: float) -> Iterator[Chunk]:
    length = min(max(_SAMPLES_PER_CHUNK / series * _ASSUMED_SCRAPE, _SHORTEST), _LONGEST)
    after = round(start - 0.001, 3)  # the first chunk takes a sample at the very start of the window
    while after < end:
        until = min(round(after + length, 3), end)
        yield Chunk(selector, columns, after, until)
        after = until


def _download(server: Prometheus, found: dict[str, list[Chunk]], out: Path) -> int:
    """Fetch all chunks, a few ahead of the one that is written, so memory is bounded; count the samples."""
    out.mkdir(parents=True, exist_ok=True)
    todo = [(metric, chunk) for metric, chunks in found.items() for chunk in chunks]
    waiting: deque[tuple[str, Future[list[pa.Table]]]] = deque()
    samples = 0
    with (
        ThreadPoolExecutor(PARALLEL) as pool,
        progress("query", len(todo), "requests") as shown,
        ExitStack() as open_files,
    ):
        ahead = iter(todo)
        current: tuple[str, pq.ParquetWriter] | None = None
        for metric, chunk in itertools.islice(ahead, 2 * PARALLEL):
            waiting.append((metric, pool.submit(_fetch, server, chunk)))
        while waiting:
            metric, future = waiting.popleft()
            for next_metric, chunk in itertools.islice(ahead, 1):
                waiting.append((next_metric, pool.submit(_fetch, server, chunk)))
            if current is None or current[0] != metric:
                open_files.close()
                writer = pq.ParquetWriter(out / f"{metric}.parquet", found[metric][0].columns, compression="zstd")
                current = metric, open_files.enter_context(writer)
            for rows in _result(future, pool):
                current[1].write_table(rows)
                samples += len(rows.column(VALUE).combine_chunks().values) if len(rows) else 0
            shown.advance(1, f"{samples:,} samples")
    return samples


def _result(future: Future[list[pa.Table]], pool: ThreadPoolExecutor) -> list[pa.Table]:
    """What was fetched; after a failure nothing more is asked for."""
    try:
        return future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _fetch(server: Prometheus, chunk: Chunk) -> list[pa.Table]:
    """The rows of a chunk; one that is too large for the server is split until it passes."""
    try:
        answer = server.raw(chunk.selector, chunk.after, chunk.until)
    except TooMuchAtOnce:
        if chunk.until - chunk.after <= _SHORTEST:
            raise
        middle = round((chunk.after + chunk.until) / 2, 3)
        halves = (
            Chunk(chunk.selector, chunk.columns, chunk.after, middle),
            Chunk(chunk.selector, chunk.columns, middle, chunk.until),
        )
        return [rows for half in halves for rows in _fetch(server, half)]
    return [table(answer, chunk.columns, chunk.after, chunk.until)]

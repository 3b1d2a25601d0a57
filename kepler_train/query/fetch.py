"""Query: the samples of a window from Prometheus, in chunks, several requests at once, to Parquet."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.errors import DataError, TryAgain
from kepler_train.events import progress, say, warn
from kepler_train.query.chunks import SHORTEST, Asked, Chunk, chunks
from kepler_train.query.prometheus import LARGEST_ANSWER, Labels, Prometheus
from kepler_train.query.refusals import TooMuchAtOnce, TooSlow
from kepler_train.samples.decoding import Answer
from kepler_train.samples.nodes import Nodes
from kepler_train.samples.parquet import VALUE, label_table, schema, table, writer
from kepler_train.samples.wanted import Wanted
from kepler_train.workspace import Figures

PARALLEL = 4
# An answer that is larger than this is asked for in halves, so that what is in memory at once stays bounded.
_MOST_BYTES = 64 << 20
_MS_PER_HOUR = 3600_000
_NO_NAMES = ("__name__", "zone", "state")


def fetch(
    server: Prometheus,
    want: Wanted,
    nodes: list[str],
    start: float,
    end: float,
    out: Path,
    step: float = 0,
    *,
    metered: bool = True,
) -> Figures:
    """Write every sample of the window, a file per metric, and answer what was found.

    With a `step` (s) the values at its multiples are written instead, as the server resamples them. Unless the
    machines must be `metered`, those without energy are taken too.
    """
    needed, what = (want.energy, "energy counters") if metered else (want.features, "features")
    # Prometheus knows milliseconds, and so do the edges of chunks.
    start_ms, end_ms = round(start * 1000), round(end * 1000)
    with ThreadPoolExecutor(PARALLEL) as pool:
        try:
            listed = _listed(server, want.energy if metered else want.metrics, start, end, pool)
            known = (
                want.nodes(labels for many in listed.values() for labels in many)
                if metered
                else want.every_node(listed.__getitem__, others=True)
            )
            if known.names and (absent := [node for node in nodes if node not in known.names]):
                warn(f"query: Prometheus has no {what} of {', '.join(absent)} in the window.")
            asked = _asked_for(server, want, known, listed, nodes, start, end, round(step * 1000), pool)
            _check_found(server, what, needed, nodes, {one.metric for one in asked})
            found = _download(server, asked, start_ms, end_ms, out, pool)
            _keep_names(server, want, set(found), known, nodes, start, end, out)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # after a failure nothing more is asked for
            raise
    _check_found(server, what, needed, nodes, set(found))
    missing = [metric for metric in want.metrics if metric not in found]
    if missing:
        say(f"query: {len(missing)} of {len(want.metrics)} metrics have no samples in the window: {', '.join(missing)}")
    return {
        "metrics": len(found),
        "series": sum(one.series for one in asked if one.metric in found),
        "samples": sum(found.values()),
        "requests": server.traffic.requests,
        "bytes": server.traffic.bytes,
        "retries": server.traffic.retries,
        "dialect": want.dialect,
    }


def _listed(
    server: Prometheus, metrics: list[str], start: float, end: float, pool: ThreadPoolExecutor
) -> dict[str, list[Labels]]:
    return dict(zip(metrics, pool.map(lambda name: _series(server, name, start, end), metrics), strict=True))


def _asked_for(
    server: Prometheus,
    want: Wanted,
    known: Nodes,
    listed: dict[str, list[Labels]],
    nodes: list[str],
    start: float,
    end: float,
    step: int,
    pool: ThreadPoolExecutor,
) -> list[Asked]:
    """The metrics that have series in the window; the series of some are listed already."""

    def look(metric: str) -> Asked:
        selector = known.selector(metric, nodes)
        if metric in want.foreign or (want.vm_label and metric in want.features):
            many = listed[metric] if metric in listed else _series(server, metric, start, end)
            selector = known.narrowed(metric, many, nodes)
        labels = listed[metric] if metric in listed and not nodes else _series(server, selector, start, end)
        names = {name for one in labels for name in one} - {"__name__"}
        return Asked(metric, selector, schema(metric, names), len(labels), step)

    return [one for one in pool.map(look, want.metrics) if one.series]


def _series(server: Prometheus, selector: str, start: float, end: float) -> list[Labels]:
    """The series of the window; where they are too many for one answer, those of its halves."""
    try:
        return server.series(selector, start, end)
    except (TooMuchAtOnce, TooSlow):
        if end - start <= SHORTEST / 1000:
            raise
    middle = round((start + end) / 2, 3)
    both = [*_series(server, selector, start, middle), *_series(server, selector, middle, end)]
    return [dict(labels) for labels in {tuple(sorted(one.items())) for one in both}]


def _keep_names(
    server: Prometheus,
    want: Wanted,
    found: set[str],
    known: Nodes,
    nodes: list[str],
    start: float,
    end: float,
    out: Path,
) -> None:
    """Keep the labels by which containers and pods are called: of each list of metrics, those of the first there is."""
    for metrics in want.names:
        for metric in () if found & set(metrics) else metrics:
            many = _series(server, known.selector(metric, nodes), start, end)
            # A container has a series for every zone and state, which its name has nothing to do with.
            own = {tuple(sorted((k, v) for k, v in one.items() if k not in _NO_NAMES)) for one in many}
            if own:
                columns = schema(metric, {name for labels in own for name, _ in labels})
                with writer(out, columns) as file:
                    file.write_table(label_table(map(dict, sorted(own)), columns))
                break


def _check_found(server: Prometheus, what: str, needed: list[str], nodes: list[str], found: set[str]) -> None:
    if not found & set(needed):
        where = f" of the nodes {', '.join(nodes)}" if nodes else ""
        raise DataError(f"Prometheus at {server.url} has no {what}{where} in the window: {', '.join(needed)}.")


@dataclass(frozen=True)
class Rows:
    """What a chunk held."""

    table: pa.Table
    samples: int
    doubled: int


def _download(
    server: Prometheus, asked: list[Asked], start: int, end: int, out: Path, pool: ThreadPoolExecutor
) -> dict[str, int]:
    """Write the samples of [start, end] (Unix ms), a file per metric that has any, and count them."""
    out.mkdir(parents=True, exist_ok=True)
    ahead = itertools.chain.from_iterable(chunks(one, start, end) for one in asked)
    found: dict[str, int] = {}
    doubled = 0
    with progress("query", len(asked) * (end - start) / _MS_PER_HOUR, "hours of metrics") as shown:
        for metric, of_metric in itertools.groupby(_fetched(server, ahead, pool), lambda one: one[0].asked.metric):
            with ExitStack() as file:
                parquet: pq.ParquetWriter | None = None
                for chunk, rows in of_metric:
                    if rows.samples:
                        parquet = parquet or file.enter_context(writer(out, chunk.asked.columns))
                        parquet.write_table(rows.table)
                        found[metric] = found.get(metric, 0) + rows.samples
                    doubled += rows.doubled
                    shown.advance(chunk.length / _MS_PER_HOUR, f"{sum(found.values()):,} samples")
    if doubled:
        warn(f"query: {doubled:,} samples had the time of another one of their series and were dropped.")
    return found


def _fetched(server: Prometheus, ahead: Iterator[Chunk], pool: ThreadPoolExecutor) -> Iterator[tuple[Chunk, Rows]]:
    """Chunks with their rows, in order; a few are fetched ahead of the one that is written, so memory is bounded."""

    def submitted(chunk: Chunk) -> tuple[Chunk, Future[Rows | tuple[Chunk, Chunk]]]:
        return chunk, pool.submit(_fetch, server, chunk)

    waiting = deque(map(submitted, itertools.islice(ahead, 2 * PARALLEL)))
    while waiting:
        chunk, future = waiting.popleft()
        rows = future.result()
        if isinstance(rows, tuple):
            waiting.extendleft(reversed([submitted(half) for half in rows]))
        else:
            yield chunk, rows
            waiting.extend(map(submitted, itertools.islice(ahead, 1)))


def _fetch(server: Prometheus, chunk: Chunk) -> Rows | tuple[Chunk, Chunk]:
    """The rows of a chunk, or its halves when it is too large or too slow for the server."""
    halves = chunk.halves(slow=False)
    try:
        answer = _ask(server, chunk, _MOST_BYTES if halves else LARGEST_ANSWER)
    except (TooMuchAtOnce, TooSlow) as refused:
        halves = chunk.halves(slow=isinstance(refused, TooSlow))
        if halves is None:
            raise
        chunk.asked.was_too_long(chunk.length)
        return halves
    samples = sum(len(one.times) for one in answer.series)
    chunk.asked.saw(samples, chunk.length)
    _check_labels(server, chunk.asked, answer)
    rows = table(answer.series, chunk.asked.columns, chunk.after / 1000, chunk.until / 1000)
    kept = pc.sum(pc.list_value_length(rows.column(VALUE))).as_py() or 0
    return Rows(rows, kept, sum(one.doubled for one in answer.series))


def _ask(server: Prometheus, chunk: Chunk, most: int) -> Answer:
    asked = chunk.asked
    if not asked.step:
        return server.raw(asked.selector, chunk.after / 1000, chunk.until / 1000, most)
    first, last = chunk.points()
    if first > last:
        return Answer([], [])
    return server.resampled(asked.selector, first / 1000, last / 1000, asked.step / 1000, most)


def _check_labels(server: Prometheus, asked: Asked, answer: Answer) -> None:
    """A label that was not there when the series were listed has no column, and would be lost."""
    used = {f"label.{name}" for one in answer.series for name in one.labels if name != "__name__"}
    new = [name.removeprefix("label.") for name in used - set(asked.columns.names)]
    if new:
        raise TryAgain(
            f"Prometheus at {server.url} has got series of {asked.metric} with new labels during the query"
            f" ({', '.join(sorted(new))}): run it again."
        )

"""Queries on a store, answered as Prometheus 2 answers them: JSON text, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from kepler_train.simulate.activity import Array
from kepler_train.simulate.promql import Aggregation, Expression, Number, QueryError, Selector
from kepler_train.simulate.store import Millis, Store

LOOKBACK_MS = 300_000  # closed at both ends in Prometheus 2, as ranges are


class TooManySamples(Exception):
    """More samples than the server may hold for one query."""

    def __init__(self) -> None:
        super().__init__("query processing would load too many samples into memory in query execution")


Row = tuple[dict[str, str], Array]  # labels, one value per step; NaN where there is none


class Evaluator:
    """One query at one or many moments."""

    def __init__(self, store: Store, max_samples: int) -> None:
        self._store, self._max_samples = store, max_samples
        self._samples = 0

    def instant(self, query: Expression, at: int) -> str:
        """The `data` of an instant query at a moment (ms)."""
        stamp = format_millis(at)
        if isinstance(query, Number):
            return f'{{"resultType":"scalar","result":[{stamp},"{format_value(query.value)}"]}}'
        if isinstance(query, Selector) and query.range_ms is not None:
            return f'{{"resultType":"matrix","result":[{",".join(self._samples_of(query, at))}]}}'
        rows = self._rows(query, np.array([at]))
        found = (
            f'{{"metric":{_json(labels)},"value":[{stamp},"{format_value(float(values[0]))}"]}}'
            for labels, values in rows
            if not np.isnan(values[0])
        )
        return f'{{"resultType":"vector","result":[{",".join(found)}]}}'

    def over(self, query: Expression, steps: Millis) -> str:
        """The `data` of a range query at every step (ms)."""
        if isinstance(query, Selector) and query.range_ms is not None:
            raise QueryError('invalid expression type "range vector" for range query, must be Scalar or instant Vector')
        rows = [({}, np.full(len(steps), query.value))] if isinstance(query, Number) else self._rows(query, steps)
        stamps = np.array([format_millis(step) for step in steps.tolist()], dtype=object)
        found = []
        for labels, values in rows:
            there = ~np.isnan(values)
            if there.any():
                found.append(_matrix_row(labels, stamps[there].tolist(), values[there]))
        return f'{{"resultType":"matrix","result":[{",".join(found)}]}}'

    def _samples_of(self, query: Selector, at: int) -> Iterable[str]:
        for series in self._store.select(query.matchers, query.name):
            first = int(np.searchsorted(series.times, at - (query.range_ms or 0), "left"))
            last = int(np.searchsorted(series.times, at, "right"))
            if last > first:
                self._count(last - first)
                stamps = [format_millis(time) for time in series.times[first:last].tolist()]
                yield _matrix_row(series.labels, stamps, series.values[first:last])

    def _rows(self, query: Selector | Aggregation, steps: Millis) -> list[Row]:
        if isinstance(query, Aggregation):
            return _aggregated(query, self._rows(query.of, steps), len(steps))
        rows = []
        for series in self._store.select(query.matchers, query.name):
            newest = np.searchsorted(series.times, steps, "right") - 1
            there = (newest >= 0) & (series.times[newest] >= steps - LOOKBACK_MS)
            if there.any():
                self._count(int(there.sum()))
                rows.append((series.labels, np.where(there, series.values[newest], np.nan)))
        return rows

    def _count(self, samples: int) -> None:
        self._samples += samples
        if self._samples > self._max_samples:
            raise TooManySamples


def _aggregated(query: Aggregation, rows: list[Row], steps: int) -> list[Row]:
    groups: dict[tuple[tuple[str, str], ...], Array] = {}
    for labels, values in rows:
        key = tuple(
            (label, value)
            for label, value in sorted(labels.items())
            if (label not in (*query.labels, "__name__") if query.without else label in query.labels)
        )
        there = ~np.isnan(values)
        total = groups.setdefault(key, np.full(steps, np.nan))
        if query.operation == "sum":
            total[there] = np.where(np.isnan(total[there]), 0, total[there]) + values[there]
        elif query.operation == "count":
            total[there] = np.where(np.isnan(total[there]), 0, total[there]) + 1
        elif query.operation == "group":
            total[there] = 1
        elif query.operation == "min":
            total[there] = np.fmin(total[there], values[there])
        else:
            total[there] = np.fmax(total[there], values[there])
    return [(dict(key), values) for key, values in sorted(groups.items())]


def _matrix_row(labels: dict[str, str], stamps: list[str], values: Array) -> str:
    points = ",".join([f'[{t},"{v}"]' for t, v in zip(stamps, format_values(values), strict=True)])
    return f'{{"metric":{_json(labels)},"values":[{points}]}}'


def _json(labels: dict[str, str]) -> str:
    text = json.dumps(labels, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def format_millis(time: int) -> str:
    """A moment (ms) in seconds; three decimals where it is not whole."""
    whole, rest = divmod(time, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)


def format_values(values: Array) -> list[str]:
    """Every value as Go writes it."""
    if np.all(np.abs(values) < 1e15) and np.all(values == np.floor(values)):
        return [str(value) for value in values.astype(np.int64).tolist()]
    return [format_value(value) for value in values.tolist()]


def format_value(value: float) -> str:
    """Shortest digits that read back as the same number, without exponent between 1e-6 and 1e21."""
    if value == float("inf") or value == float("-inf"):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value).removesuffix(".0")
    if "e" in text and 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f")
    return "NaN" if value != value else text

"""Evaluate queries on a store as Prometheus 2 does, and write its JSON text, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from kepler_train.simulate.activity import Array
from kepler_train.simulate.promql import Aggregation, Expression, Number, QueryError, Selector
from kepler_train.simulate.store import Millis, SampleStore

LOOKBACK_MS = 300_000  # closed at both ends in Prometheus 2, as ranges are


class TooManySamples(Exception):
    """The error of a query that would load more samples than the server may hold."""

    def __init__(self) -> None:
        super().__init__("query processing would load too many samples into memory in query execution")


_Row = tuple[dict[str, str], Array]  # labels, one value per step; NaN where there is none


class Evaluator:
    """The evaluation of one query at one or many moments."""

    def __init__(self, store: SampleStore, max_samples: int) -> None:
        self._store, self._max_samples = store, max_samples
        self._samples = 0

    def instant(self, query: Expression, at: int) -> str:
        """Return the `data` of an instant query at a moment (ms)."""
        stamp = format_millis(at)
        if isinstance(query, Number):
            return f'{{"resultType":"scalar","result":[{stamp},"{format_number(query.value)}"]}}'
        if isinstance(query, Selector) and query.range_ms is not None:
            return f'{{"resultType":"matrix","result":[{",".join(self._samples_of(query, at))}]}}'
        rows = self._rows(query, np.array([at]))
        entries = (
            f'{{"metric":{_json(labels)},"value":[{stamp},"{format_number(float(values[0]))}"]}}'
            for labels, values in rows
            if not np.isnan(values[0])
        )
        return f'{{"resultType":"vector","result":[{",".join(entries)}]}}'

    def over(self, query: Expression, steps: Millis) -> str:
        """Return the `data` of a range query at every step (ms)."""
        if isinstance(query, Selector) and query.range_ms is not None:
            raise QueryError('invalid expression type "range vector" for range query, must be Scalar or instant Vector')
        rows = [({}, np.full(len(steps), query.value))] if isinstance(query, Number) else self._rows(query, steps)
        stamps = np.array([format_millis(step) for step in steps.tolist()], dtype=object)
        entries = []
        for labels, values in rows:
            known = ~np.isnan(values)
            if known.any():
                entries.append(_matrix_row(labels, stamps[known].tolist(), values[known]))
        return f'{{"resultType":"matrix","result":[{",".join(entries)}]}}'

    def _samples_of(self, query: Selector, at: int) -> Iterable[str]:
        for series in self._store.select(query.matchers, query.name):
            first = int(np.searchsorted(series.times, at - (query.range_ms or 0), "left"))
            last = int(np.searchsorted(series.times, at, "right"))
            if last > first:
                self._count(last - first)
                stamps = [format_millis(time) for time in series.times[first:last].tolist()]
                yield _matrix_row(series.labels, stamps, series.values[first:last])

    def _rows(self, query: Selector | Aggregation, steps: Millis) -> list[_Row]:
        if isinstance(query, Aggregation):
            return _aggregated(query, self._rows(query.of, steps), len(steps))
        rows = []
        for series in self._store.select(query.matchers, query.name):
            newest = np.searchsorted(series.times, steps, "right") - 1
            known = (newest >= 0) & (series.times[newest] >= steps - LOOKBACK_MS)
            if known.any():
                self._count(int(known.sum()))
                rows.append((series.labels, np.where(known, series.values[newest], np.nan)))
        return rows

    def _count(self, samples: int) -> None:
        self._samples += samples
        if self._samples > self._max_samples:
            raise TooManySamples


def _aggregated(query: Aggregation, rows: list[_Row], steps: int) -> list[_Row]:
    groups: dict[tuple[tuple[str, str], ...], Array] = {}
    for labels, values in rows:
        key = tuple(
            (label, value)
            for label, value in sorted(labels.items())
            if (label not in (*query.labels, "__name__") if query.without else label in query.labels)
        )
        known = ~np.isnan(values)
        total = groups.setdefault(key, np.full(steps, np.nan))
        if query.operation == "sum":
            total[known] = np.where(np.isnan(total[known]), 0, total[known]) + values[known]
        elif query.operation == "count":
            total[known] = np.where(np.isnan(total[known]), 0, total[known]) + 1
        elif query.operation == "group":
            total[known] = 1
        elif query.operation == "min":
            total[known] = np.fmin(total[known], values[known])
        else:
            total[known] = np.fmax(total[known], values[known])
    return [(dict(key), values) for key, values in sorted(groups.items())]


def _matrix_row(labels: dict[str, str], stamps: list[str], values: Array) -> str:
    points = ",".join([f'[{t},"{v}"]' for t, v in zip(stamps, format_numbers(values), strict=True)])
    return f'{{"metric":{_json(labels)},"values":[{points}]}}'


def _json(labels: dict[str, str]) -> str:
    text = json.dumps(labels, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def format_millis(time: int) -> str:
    """Return a moment (ms) in seconds, with three decimals where it is not whole."""
    whole, rest = divmod(time, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)


def format_numbers(values: Array) -> list[str]:
    """Return every value as Go writes it."""
    if np.all(np.abs(values) < 1e15) and np.all(values == np.floor(values)):
        return [str(value) for value in values.astype(np.int64).tolist()]
    return [format_number(value) for value in values.tolist()]


def format_number(value: float) -> str:
    """Return the shortest digits that read back as the same number, without exponent between 1e-6 and 1e21."""
    if value == float("inf") or value == float("-inf"):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value).removesuffix(".0")
    if "e" in text and 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f")
    return "NaN" if value != value else text

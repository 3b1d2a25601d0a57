"""Selectors of PromQL, `name{label="value",other=~"pattern"}[10m]`, which are all that `query` asks a server for.

They are evaluated on a store as Prometheus 2 does, and answered in its JSON text, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from kepler_train.arrays import Bools, Floats
from kepler_train.simulate.store import Matcher, Millis, SampleStore

LOOKBACK_MS = 300_000  # closed at both ends in Prometheus 2, as ranges are
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
_NAME = r"[a-zA-Z_:][\w:]*"
_MATCHER = rf"""\s*({_NAME})\s*(=~|!~|!=|=)\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)\s*"""
_SELECTOR = re.compile(
    rf"\s*(?P<name>{_NAME})?\s*(?P<braces>\{{(?P<matchers>({_MATCHER},)*({_MATCHER})?)\s*\}})?"
    r"\s*(?:\[\s*(?P<range>(?:\d+(?:ms|[smhdwy]))+)\s*\])?\s*"
)


class QueryError(ValueError):
    """A query that Prometheus would refuse, or that this server does not know."""


class TooManySamples(Exception):
    """The error of a query that would load more samples than the server may hold."""

    def __init__(self) -> None:
        super().__init__("query processing would load too many samples into memory in query execution")


@dataclass(frozen=True)
class Selector:
    """Series by name and label; with `range_ms` their raw samples."""

    name: str | None
    matchers: tuple[tuple[str, Matcher], ...]
    range_ms: int | None = None


def duration_ms(text: str) -> int:
    """Return a Prometheus duration, `15m` or `1h30m`, in ms."""
    parts = re.findall(r"(\d+)(ms|[smhdwy])", text)
    if not parts or "".join(n + unit for n, unit in parts) != text:
        raise QueryError(f'not a valid duration string: "{text}"')
    return sum(int(n) * _UNITS[unit] for n, unit in parts)


def parse_selector(text: str) -> Selector:
    """Return the selector in a query; refuse any other expression."""
    if not text.strip():
        raise QueryError("1:1: parse error: no expression found in input")
    parts = _SELECTOR.fullmatch(text)
    if not parts or not (parts["name"] or parts["braces"]):
        raise QueryError('1:1: parse error: this simulated server knows only selectors, as name{label="value"}[10m]')
    matchers = tuple(_matcher(*matcher) for matcher in re.findall(_MATCHER, parts["matchers"] or ""))
    if not parts["name"] and all(match("") for _, match in matchers):
        position = len(text) - len(text.lstrip()) + 1
        raise QueryError(f"1:{position}: parse error: vector selector must contain at least one non-empty matcher")
    return Selector(parts["name"], matchers, duration_ms(parts["range"]) if parts["range"] else None)


def _matcher(label: str, operator: str, quoted: str) -> tuple[str, Matcher]:
    expected = quoted[1:-1]
    if quoted[0] != "`":
        expected = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), expected)
    if operator in ("=", "!="):
        return label, lambda value: (value == expected) == (operator == "=")
    try:
        pattern = re.compile(expected, re.DOTALL)
    except re.error as error:
        raise QueryError(f"parse error: error parsing regexp: {error}") from error
    return label, lambda value: (pattern.fullmatch(value) is not None) == (operator == "=~")


class Evaluator:
    """The evaluation of one query at one or many moments."""

    def __init__(self, store: SampleStore, max_samples: int) -> None:
        self._store, self._max_samples = store, max_samples
        self._samples = 0

    def instant(self, query: Selector, at: int) -> str:
        """Return the `data` of an instant query at a moment (ms)."""
        if query.range_ms is not None:
            return f'{{"resultType":"matrix","result":[{",".join(self._raw(query, query.range_ms, at))}]}}'
        stamp = format_millis(at)
        entries = (
            f'{{"metric":{_json(labels)},"value":[{stamp},"{format_number(float(values[0]))}"]}}'
            for labels, _, values in self._newest(query, np.array([at]))
        )
        return f'{{"resultType":"vector","result":[{",".join(entries)}]}}'

    def over(self, query: Selector, steps: Millis) -> str:
        """Return the `data` of a range query at every step (ms)."""
        if query.range_ms is not None:
            raise QueryError('invalid expression type "range vector" for range query, must be Scalar or instant Vector')
        stamps = np.array([format_millis(step) for step in steps.tolist()], dtype=object)
        entries = (
            _matrix_row(labels, stamps[known].tolist(), values) for labels, known, values in self._newest(query, steps)
        )
        return f'{{"resultType":"matrix","result":[{",".join(entries)}]}}'

    def _raw(self, query: Selector, range_ms: int, at: int) -> Iterator[str]:
        """Yield the samples of each series in the range before a moment."""
        for series in self._store.select(query.matchers, query.name):
            first = int(np.searchsorted(series.times, at - range_ms, "left"))
            last = int(np.searchsorted(series.times, at, "right"))
            if last > first:
                self._count(last - first)
                stamps = [format_millis(time) for time in series.times[first:last].tolist()]
                yield _matrix_row(series.labels, stamps, series.values[first:last])

    def _newest(self, query: Selector, steps: Millis) -> Iterator[tuple[dict[str, str], Bools, Floats]]:
        """Yield the labels of each series, the steps at which it has a sample that is not too old, and its values."""
        for series in self._store.select(query.matchers, query.name):
            newest = np.searchsorted(series.times, steps, "right") - 1
            known = (newest >= 0) & (series.times[newest] >= steps - LOOKBACK_MS)
            if known.any():
                self._count(int(known.sum()))
                yield series.labels, known, series.values[newest[known]]

    def _count(self, samples: int) -> None:
        self._samples += samples
        if self._samples > self._max_samples:
            raise TooManySamples


def _matrix_row(labels: dict[str, str], stamps: list[str], values: Floats) -> str:
    points = ",".join([f'[{t},"{v}"]' for t, v in zip(stamps, format_numbers(values), strict=True)])
    return f'{{"metric":{_json(labels)},"values":[{points}]}}'


def _json(labels: dict[str, str]) -> str:
    text = json.dumps(labels, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def format_millis(time: int) -> str:
    """Return a moment (ms) in seconds, with three decimals where it is not whole."""
    whole, rest = divmod(time, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)


def format_numbers(values: Floats) -> list[str]:
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

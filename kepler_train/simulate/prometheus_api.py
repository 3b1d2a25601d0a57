"""The Prometheus HTTP API over a store of simulated samples, with faults on request."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from datetime import datetime
from http import HTTPStatus
from typing import Any

import numpy as np

from kepler_train.simulate.promql import Evaluator, QueryError, Selector, TooManySamples, duration_ms, parse_selector
from kepler_train.simulate.store import SampleStore, StoredSeries

MAX_POINTS = 11_000
MOST_SECONDS = 9e15  # what fits into 64 bits of duration_ms
Parameters = dict[str, list[str]]


class ApiError(Exception):
    """An error answer, in Prometheus's own shape."""

    def __init__(self, status: HTTPStatus, kind: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.body = json.dumps({"status": "error", "errorType": kind, "error": text}, separators=(",", ":"))


def bad_data(text: str) -> ApiError:
    """Return the error for a request that makes no sense."""
    return ApiError(HTTPStatus.BAD_REQUEST, "bad_data", text)


def too_many_samples() -> ApiError:
    """Return the error for a query that is too large for the server."""
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "execution", str(TooManySamples()))


class Api:
    """The answers of `/api/v1`, as JSON text."""

    def __init__(self, store: SampleStore, max_samples: int = 50_000_000) -> None:
        self._store, self._max_samples = store, max_samples

    def answer(self, path: str, parameters: Parameters) -> str:
        """Return the body of a successful answer; everything else is an ApiError."""
        parts = path.removeprefix("/api/v1/").split("/")
        try:
            if parts == ["query"]:
                data = self._query(parameters)
            elif parts == ["query_range"]:
                data = self._query_range(parameters)
            elif parts == ["series"]:
                data = self._series(parameters)
            elif parts == ["labels"]:
                data = _dump(sorted({label for s in self._matching_series(parameters) for label in s.labels}))
            elif len(parts) == 3 and parts[0] == "label" and parts[2] == "values":
                values = {s.labels[parts[1]] for s in self._matching_series(parameters) if parts[1] in s.labels}
                data = _dump(sorted(values))
            elif parts == ["status", "buildinfo"]:
                data = _dump({"version": "2.42.0", "revision": "simulated", "goVersion": "none"})
            else:
                raise ApiError(HTTPStatus.NOT_FOUND, "not_found", f"no such path: {path}")
        except TooManySamples:
            raise too_many_samples() from None
        return f'{{"status":"success","data":{data}}}'

    def _query(self, parameters: Parameters) -> str:
        at = _moment(parameters, "time", time.time())
        return Evaluator(self._store, self._max_samples).instant(_parsed(_first(parameters, "query"), "query"), at)

    def _query_range(self, parameters: Parameters) -> str:
        start, end = _moment(parameters, "start"), _moment(parameters, "end")
        if end < start:
            raise bad_data('invalid parameter "end": end timestamp must not be before start time')
        step = _step(_first(parameters, "step"))
        if (end - start) / step > MAX_POINTS:
            raise bad_data(
                "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution"
                " (?step=XX)"
            )
        query = _parsed(_first(parameters, "query"), "query")
        try:
            return Evaluator(self._store, self._max_samples).over(
                query, np.arange(start, end + 1, step, dtype=np.int64)
            )
        except QueryError as error:
            raise bad_data(str(error)) from error

    def _series(self, parameters: Parameters) -> str:
        if not parameters.get("match[]"):
            raise bad_data("no match[] parameter provided")
        return _dump([s.labels for s in self._matching_series(parameters)])

    def _matching_series(self, parameters: Parameters) -> Iterable[StoredSeries]:
        """Return the series that match `match[]`, `start` and `end`, each of which may be missing."""
        start, end = _moment(parameters, "start", -math.inf), _moment(parameters, "end", math.inf)
        during = self._store.during(start, end)
        if not (texts := parameters.get("match[]")):
            return during
        matching = set()
        for text in texts:
            query = _parsed(text, "match[]")
            if query.range_ms is not None:
                raise bad_data('invalid parameter "match[]": 1:1: parse error: expected a selector')
            matching |= {id(s) for s in self._store.select(query.matchers, query.name)}
        return [s for s in during if id(s) in matching]


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: str, name: str) -> Selector:
    try:
        return parse_selector(text)
    except QueryError as error:
        raise bad_data(f'invalid parameter "{name}": {error}') from error


def _first(parameters: Parameters, name: str) -> str:
    return parameters.get(name, [""])[0]


def _moment(parameters: Parameters, name: str, default: float | None = None) -> Any:
    """Return a parameter in seconds or RFC 3339 as milliseconds."""
    text = _first(parameters, name)
    if not text and default is not None:
        return round(default * 1000) if math.isfinite(default) else default
    try:
        number = float(text)
        if abs(number) < MOST_SECONDS:
            return round(number * 1000)
    except ValueError:
        try:
            parsed = datetime.fromisoformat(text)
            if parsed.tzinfo and "T" in text:
                return round(parsed.timestamp() * 1000)
        except ValueError:
            pass
    prefix = "Invalid time value for 'time': " if name == "time" else ""
    raise bad_data(f'invalid parameter "{name}": {prefix}cannot parse "{text}" to a valid timestamp')


def _step(text: str) -> int:
    try:
        step = float(text) * 1000
    except ValueError:
        try:
            step = duration_ms(text)
        except QueryError:
            raise bad_data(f'invalid parameter "step": cannot parse "{text}" to a valid duration') from None
    if step >= MOST_SECONDS * 1000:
        raise bad_data(f'invalid parameter "step": cannot parse "{text}" to a valid duration. It overflows int64')
    if not step > 0:
        raise bad_data(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted.'
            " Try a positive integer"
        )
    return max(round(step), 1)

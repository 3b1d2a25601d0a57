"""The answers of Prometheus' HTTP API as arrays: right, or one sentence why not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kepler_train.errors import DataError

# The years that a calendar has, 0001 to 9999 (Unix s); what lies outside is no time of a scrape.
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799


class Truncated(ValueError):
    """The JSON of an answer breaks off: the connection was cut, and the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One series: times (Unix ms) in order, each once, and their values; `doubled` repeated times were dropped."""

    labels: dict[str, str]
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    doubled: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The series of an answer and what the server, or we, have to say about it, a sentence each."""

    series: list[Samples]
    warnings: list[str]


def decode_answer(body: bytes) -> Answer:
    """The series of a range of samples: the body of `/api/v1/query` over a range selector or `/api/v1/query_range`."""
    content = _json(body)
    if not isinstance(content, dict):
        raise DataError("The answer is not one of Prometheus: an object with status and data is expected.")
    if content.get("status") != "success":
        raise DataError(f"The query failed: {content.get('error', 'the server does not say why')}.")
    data = content.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise DataError("The answer has no result: an object with data and result is expected.")
    if data.get("resultType") != "matrix":
        raise DataError(f"The answer is a {data.get('resultType')}, not a matrix: ask for a range of samples.")
    said = [str(one) for key in ("warnings", "infos") for one in content.get(key) or []]
    series = []
    for one in data["result"]:
        labels = labels_of(one)
        if "histograms" in one:
            said.append(f"{labels.get('__name__', 'A series')} has native histograms, which are left out.")
        if "values" in one or "histograms" not in one:
            series.append(decode_series(labels, one.get("values")))
    return Answer(series, list(dict.fromkeys(said)))


def labels_of(series: Any) -> dict[str, str]:
    """The labels of a series in an answer."""
    labels = series.get("metric") if isinstance(series, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise DataError("A series of the answer has no labels.")
    return labels


def decode_series(labels: dict[str, str], pairs: Any) -> Samples:
    """One series from its list of pairs [Unix s, "value"], a sample at a time."""
    try:
        times = np.array([_time(time) for time, _ in pairs], dtype=np.float64)
        values = np.array([_value(value) for _, value in pairs], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unreadable(labels, str(error)) from None
    return in_order(labels, milliseconds(labels, times), values)


def _time(time: Any) -> float:
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise TypeError(f"{time!r} is not a time")
    return float(time)


def _value(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or "_" in str(value):
        raise TypeError(f"{value!r} is not a value")
    return float(value)


def milliseconds(labels: dict[str, str], times: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Unix ms of Unix s: Prometheus prints ms as a decimal fraction, and rounding gives the scrape's own stamp back."""
    if len(times) and not (times.min() >= _EARLIEST and times.max() <= _LATEST):
        raise _unreadable(labels, "a time is not within the years 1 to 9999")
    return np.rint(times * 1000).astype(np.int64)


def in_order(labels: dict[str, str], times: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> Samples:
    """A series sorted by time, each time once: of samples with the same time the first is kept."""
    if (np.diff(times) > 0).all():
        return Samples(labels, times, values)
    once, first = np.unique(times, return_index=True)
    return Samples(labels, once, values[first], len(times) - len(once))


def _unreadable(labels: dict[str, str], reason: str) -> DataError:
    return DataError(f"A series of {labels.get('__name__', 'the answer')} cannot be read: {reason}.")


def _json(body: bytes) -> Any:
    """The content of a body; NaN and doubled keys, of which one would be lost, are not JSON."""
    try:
        return json.loads(body, object_pairs_hook=_once, parse_constant=_refuse)
    except ValueError as error:
        if _breaks_off(body, error):
            raise Truncated("The answer breaks off.") from None
        raise DataError(f"The answer is not JSON: {error}.") from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number in JSON")


def _breaks_off(body: bytes, error: ValueError) -> bool:
    """Whether the beginning of an answer was read when the error was met."""
    text = body.strip()
    if not text.startswith(b"{"):
        return not text
    if not text.endswith(b"}") or isinstance(error, UnicodeDecodeError) and error.end == len(body):
        return True
    return isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    )

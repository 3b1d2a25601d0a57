"""Decode the answers of Prometheus' HTTP API to arrays, or refuse them with one sentence."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kepler_train.arrays import Floats
from kepler_train.errors import DataError
from kepler_train.samples import strict_json
from kepler_train.samples.labels import METRIC_NAME, Labels
from kepler_train.samples.sample_text import Form, form_of, parse, spans
from kepler_train.samples.strict_json import Truncated
from kepler_train.strict_json import shown

__all__ = [
    "Answer",
    "Cut",
    "DecodedSeries",
    "Truncated",
    "decode_answer",
    "decode_series",
    "in_order",
    "labels_of",
    "number_of",
    "parts_of",
]


# The years that a calendar has, 0001 to 9999 (Unix s); what lies outside is no time of a scrape.
EARLIEST, LATEST = -62_135_596_800, 253_402_300_799
_LONGEST_NAME = 200  # characters of a metric's name in a sentence
# Text that is parsed at once (bytes): enough to make the call cheap, little beside the answer itself.
_PART = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class DecodedSeries:
    """One series: times (Unix ms) in order, each once, and their values; `doubled` repeated times were dropped."""

    labels: Labels
    times: npt.NDArray[np.int64]
    values: Floats
    doubled: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The series of an answer, and the warnings of the server and of the decoder, a sentence each."""

    series: list[DecodedSeries]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Cut:
    """A placeholder for samples that were cut out of JSON: the first (0), the second and so on."""

    number: int


def decode_answer(body: bytes) -> Answer:
    """Return the series in a body of `/api/v1/query` over a range selector or of `/api/v1/query_range`."""
    form = form_of(body)
    if form is not None:
        try:
            return _answer(*_without_samples(body, form), form)
        except (ValueError, DataError):
            form = None  # something unusual is judged as a whole
    return _answer(strict_json.loads(body), [], form)


def _without_samples(body: bytes, form: Form) -> tuple[Any, list[bytes]]:
    """Return the content of a body with a `Cut` for the samples of each series, and the texts of the samples."""
    rest, texts, at = [], [], 0
    for first, last in spans(body, form):
        rest.append(body[at : first - form.brackets])
        texts.append(body[first:last])
        at = last + len(form.end)
    number = itertools.count()
    content = strict_json.loads(b"NaN".join([*rest, body[at:]]), lambda _: Cut(next(number)))
    if next(number) != len(texts):
        raise ValueError("NaN stands in the answer itself")
    return content, texts


def _answer(content: Any, texts: list[bytes], form: Form | None) -> Answer:
    if not isinstance(content, dict):
        raise DataError("The answer is not one of Prometheus: an object with status and data is expected.")
    if content.get("status") != "success":
        raise DataError(f"The query failed: {content.get('error', 'the server does not say why')}.")
    data = content.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise DataError("The answer has no result: data with a list of series is expected.")
    if data.get("resultType") != "matrix":
        raise DataError(f"The answer is a {data.get('resultType')}, not a matrix: ask for a range of samples.")
    series = [parts_of(entry) for entry in data["result"]]
    if sum(isinstance(samples, Cut) for _, samples in series) != len(texts):
        raise ValueError("samples stand where no series is")
    warnings = [*_sentences(content, "warnings"), *_sentences(content, "infos")]
    warnings += [
        f"A series of {_name(entry['metric'])} has native histograms, which are left out."
        for entry in data["result"]
        if "histograms" in entry
    ]
    cut = ((labels, texts[samples.number] if isinstance(samples, Cut) else samples) for labels, samples in series)
    return Answer(list(decode_series(cut, form)), list(dict.fromkeys(warnings)))


def _sentences(content: dict[str, Any], key: str) -> list[str]:
    sentences = content.get(key) or []
    return [str(sentence) for sentence in sentences] if isinstance(sentences, list) else [str(sentences)]


def parts_of(series: Any) -> tuple[Labels, list[Any] | Cut]:
    """Return labels and samples of one series of an answer; a series of native histograms has no samples."""
    labels = labels_of(series.get("metric") if isinstance(series, dict) else None)
    samples = series.get("values", [] if "histograms" in series else None)
    if not isinstance(samples, list | Cut):
        raise _unreadable(labels, "'values' is not a list" if "values" in series else "'values' is missing")
    return labels, samples


def labels_of(content: Any) -> Labels:
    """Return the labels of a series; refuse what is none, or no text that a file can hold."""
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise DataError("A series has no labels.")
    text = "".join(itertools.chain(*content.items()))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _unreadable(content, "its labels are not Unicode text") from None
    if "\0" in text:
        raise _unreadable(content, "its labels have a NUL character")
    return content


def decode_series(series: Iterable[tuple[Labels, list[Any] | bytes]], form: Form | None) -> Iterator[DecodedSeries]:
    """Yield series from their labels and samples, the latter as pairs [Unix s, "value"] or as text of `form`."""
    part: list[tuple[Labels, list[Any] | bytes]] = []
    size = 0
    for labelled in series:
        part.append(labelled)
        size += len(labelled[1])
        if size > _PART:
            yield from _decode_part(part, form)
            part, size = [], 0
    yield from _decode_part(part, form)


def _decode_part(part: list[tuple[Labels, list[Any] | bytes]], form: Form | None) -> Iterator[DecodedSeries]:
    texts = [samples for _, samples in part if isinstance(samples, bytes)]
    parsed = parse(texts, form) if form and part and len(texts) == len(part) else None
    if parsed:
        times, values, counts = parsed
        yield from in_order([labels for labels, _ in part], _stamps(part[0][0], times), values, counts)
        return
    for labels, samples in part:
        times, values = _numbers(labels, _pairs(labels, samples) if isinstance(samples, bytes) else samples)
        yield from in_order([labels], _stamps(labels, times), values, [len(times)])


def _pairs(labels: Labels, text: bytes) -> Any:
    try:
        return strict_json.decoder().decode(f'[[{text.decode()}"]]')
    except (ValueError, RecursionError) as error:
        raise _unreadable(labels, str(error)) from None


def _numbers(labels: Labels, pairs: list[Any]) -> tuple[Floats, Floats]:
    """Return times (Unix s) and values of pairs, converted one by one."""
    try:
        times = [number_of(time, int | float) for time, _ in pairs]
        values = [number_of(value) for _, value in pairs]
    except (TypeError, ValueError, OverflowError) as error:
        raise _unreadable(labels, str(error)) from None
    return np.array(times, dtype=np.float64), np.array(values, dtype=np.float64)


def number_of(value: Any, kind: Any = str | int | float) -> float:
    """Return the number that a value of an answer is; raise TypeError, ValueError or OverflowError for another."""
    # Python takes True for 1 and "1_0" for 10.
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        raise TypeError(f"{shown(value)} is not a number")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is not a number") from None


def _stamps(labels: Labels, times: Floats) -> npt.NDArray[np.int64]:
    """Return Unix ms of Unix s.

    Prometheus prints ms as a decimal fraction, so rounding gives the scrape's own stamp back.
    """
    if len(times) and not (times.min() >= EARLIEST and times.max() <= LATEST):
        raise _unreadable(labels, "a time is not within the years 1 to 9999")
    return np.rint(times * 1000).astype(np.int64)


def in_order(
    series: Sequence[Labels], times: npt.NDArray[np.int64], values: Floats, counts: list[int]
) -> Iterator[DecodedSeries]:
    """Yield series whose samples lie one after the other: each sorted by time, of equal times only the first."""
    ends = np.cumsum(counts)
    backwards = np.flatnonzero(times[1:] <= times[:-1]) + 1
    unsorted = set(np.searchsorted(ends, np.setdiff1d(backwards, ends), side="right").tolist())
    for number, (labels, end, count) in enumerate(zip(series, ends.tolist(), counts, strict=True)):
        stamps, numbers = times[end - count : end], values[end - count : end]
        if number not in unsorted:
            yield DecodedSeries(labels, stamps, numbers)
        else:
            unique, first = np.unique(stamps, return_index=True)
            yield DecodedSeries(labels, unique, numbers[first], count - len(unique))


def _name(labels: Labels) -> str:
    return labels[METRIC_NAME][:_LONGEST_NAME] if METRIC_NAME in labels else "a metric without a name"


def _unreadable(labels: Labels, reason: str) -> DataError:
    return DataError(f"A series of {_name(labels)} cannot be read: {reason}.")

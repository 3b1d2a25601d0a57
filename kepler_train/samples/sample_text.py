"""Fast reading of the text of samples in JSON, `[[1.5,"2"],[3,"4"]]`, without an object per sample.

Samples are nearly all of an answer, and every writer of JSON repeats its own signs around them. So the signs of the
first series are learnt, and text with exactly the same ones is cut at them and read as two columns of numbers. Whatever
looks different is left to a reader of JSON: here is only speed, never a judgement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from kepler_train.arrays import Floats

_FIRST_TWO = re.compile(
    rb'("values"_:_\[_\[_)[0-9.eE+-]+(_,_")[^"\\]*(("_\])_,_\[_)'.replace(b"_", rb"[ \t\r\n]*"),
)
_BLANKS_AND_BRACKET = rb"[ \t\r\n]*\]"
_AS_TEXT = csv.ParseOptions(quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False)
_AS_NUMBERS = csv.ConvertOptions(
    column_types=dict.fromkeys("tv", pa.float64()), include_columns=["t", "v"], null_values=[], check_utf8=False
)
_BRACKET_ENDS_LINE = bytes.maketrans(b"]", b"\n")
_DELETED = b' \t\r\n["'


@dataclass(frozen=True, slots=True)
class Form:
    """The signs around the numbers, blanks included."""

    start: bytes  # `"values":[[`
    middle: bytes  # `,"`
    between: bytes  # `"],[`
    end: bytes  # `"]]`

    @property
    def brackets(self) -> int:
        """Return how many bytes before the first time the list begins."""
        return len(self.start) - self.start.index(b"[")


def form_of(text: bytes) -> Form | None:
    """Return the form of the first series with two samples and an end in `text`; None without one."""
    first = _FIRST_TWO.search(text)
    end = first and re.compile(re.escape(first[4]) + _BLANKS_AND_BRACKET).search(text, first.end())
    return Form(first[1], first[2], first[3], end[0]) if first and end else None


def spans(text: bytes, form: Form, *, ended: bool = True) -> Iterator[tuple[int, int]]:
    """Yield where the samples of each series lie in JSON: from after `start` to before `end`.

    A quote that is not escaped begins or ends a string, and nothing but a key may stand before a colon. So `start`
    is never inside a string, unless the text was no JSON even before it. Samples have no braces: they end before the
    next one. Text that has not `ended` may go on with samples after its last brace.
    """
    at = text.find(form.start)
    while at >= 0:
        first = at + len(form.start)
        brace = text.find(b"{", first)
        if brace < 0 and not ended:
            return
        last = text.rfind(form.end, first, brace if brace >= 0 else len(text))
        if last >= 0 and text[at - 1 : at] != b"\\":
            yield first, last
            first = last
        at = text.find(form.start, first)


def unfinished(text: bytes, form: Form, begin: int) -> int:
    """Return where, after `begin`, samples or their `start` begin that may go on beyond the end of `text`."""
    at = text.rfind(form.start, begin)
    if at >= 0 and text.find(b"{", at) < 0:
        return max(begin, at - 1)  # with the sign before it, which may make it a part of a string
    return max(begin, len(text) - len(form.start))


def parse(texts: Sequence[bytes], form: Form) -> tuple[Floats, Floats, list[int]] | None:
    """Return times (Unix s) and values of all series, and the count of each; None when a text is not just pairs."""
    lead = form.between[form.between.index(b"]") + 1 :]
    text = b"".join([lead, form.between.join(texts), form.between])
    quotes = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord('"'))
    opening, closing = quotes[::2], quotes[1::2]
    if not (_all_at(text, opening - len(form.middle) + 1, form.middle) and _all_at(text, closing, form.between)):
        return None
    # Each `between` becomes the end of a line and a comma, each `middle` a comma. Blanks, brackets and quotes that go
    # beside those would have gone from within a number.
    rows = text.translate(_BRACKET_ENDS_LINE, delete=_DELETED)[:-1]
    removed = len(opening) * (_deleted(form.middle) + _deleted(form.between)) + _deleted(lead)
    if len(text) - 1 - len(rows) != removed or not _like_json(rows, len(opening)):
        return None
    try:
        options = csv.ReadOptions(use_threads=False, column_names=["", "t", "v"], block_size=len(rows))
        table = csv.read_csv(pa.BufferReader(rows), options, _AS_TEXT, _AS_NUMBERS)
    except pa.ArrowInvalid:
        return None
    times, values = _floats(table.column("t")), _floats(table.column("v"))
    if len(times) != len(opening) or (b"(" in rows and np.isnan(values).any()):  # nan(1) is one in C only
        return None
    ends = np.cumsum([len(series) + len(form.between) for series in texts]) + len(lead)
    return times, values, np.diff(np.searchsorted(opening, ends), prepend=0).tolist()


def _all_at(text: bytes, positions: npt.NDArray[np.int64], expected: bytes) -> bool:
    size = len(expected)
    if not len(positions) or positions[0] < 0 or positions[-1] > len(text) - size:
        return False
    windows = np.ndarray((len(text) - size + 1,), dtype=f"S{size}", buffer=text, strides=(1,))
    return bool((windows[positions] == expected).all())


def _deleted(text: bytes) -> int:
    return len(text) - len(text.translate(None, delete=_DELETED))


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.from_dlpack(column.combine_chunks())  # type: ignore[return-value]  # to_numpy would import pandas


def _like_json(rows: bytes, expected: int) -> bool:
    """Return whether no time is a number only outside JSON, as 01, +1, .5 or 5."""
    signs = np.frombuffer(rows, dtype=np.uint8)
    ends = np.flatnonzero(signs == ord("\n"))
    if len(ends) != expected:
        return False
    first = signs[np.concatenate([[1], ends[:-1] + 2])]
    dots = np.flatnonzero(signs == ord("."))
    return (
        bool(((first >= ord("1")) & (first <= ord("9"))).all())
        and _digits(signs[dots - 1])
        and _digits(signs[dots + 1])
    )


def _digits(signs: npt.NDArray[np.uint8]) -> bool:
    return bool(((signs >= ord("0")) & (signs <= ord("9"))).all())

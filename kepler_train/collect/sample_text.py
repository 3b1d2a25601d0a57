"""The text of samples in JSON, `[[1.5,"2"],[3,"4"]]`, found and turned into arrays without an object per sample.

Samples are nearly all of an answer, and every writer of JSON repeats its own signs around them. So the signs of the
first series are learnt, and text with exactly the same ones is cut at them and read as two columns of numbers.
Whatever looks different is left to a reader of JSON: here is only speed, never a judgement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

Floats = npt.NDArray[np.float64]

_FIRST_TWO = re.compile(
    rb'("values"_:_\[_\[_)[0-9.eE+-]+(_,_")[^"\\]*(("_\])_,_\[_)'.replace(b"_", rb"[ \t\r\n]*"),
)
_BLANKS_AND_BRACKET = rb"[ \t\r\n]*\]"
_AS_TEXT = csv.ParseOptions(quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False)
_AS_NUMBERS = csv.ConvertOptions(column_types=dict.fromkeys("tv", pa.float64()), null_values=[], check_utf8=False)


@dataclass(frozen=True, slots=True)
class Form:
    """The signs around the numbers, blanks included."""

    start: bytes  # `"values":[[`
    middle: bytes  # `,"`
    between: bytes  # `"],[`
    end: bytes  # `"]]`

    @property
    def brackets(self) -> int:
        """How many bytes before the first time the list begins."""
        return len(self.start) - self.start.index(b"[")


def form_of(text: bytes) -> Form | None:
    """The form of the first series with two samples and an end in `text`."""
    found = _FIRST_TWO.search(text)
    end = found and re.compile(re.escape(found[4]) + _BLANKS_AND_BRACKET).search(text, found.end())
    return Form(found[1], found[2], found[3], end[0]) if found and end else None


def spans(text: bytes, form: Form) -> Iterator[tuple[int, int]]:
    """Where the samples of each series lie in JSON: from after `start` to before `end`.

    A quote that is not escaped begins or ends a string, and nothing but a key may stand before a colon. So `start`
    is never inside a string, unless the text was no JSON even before it.
    """
    at = text.find(form.start)
    while at >= 0:
        first = at + len(form.start)
        last = text.find(form.end, first)
        if last < 0:
            return
        # A brace is of another object: the samples before it ended in another form.
        if text[at - 1 : at] != b"\\" and text.find(b"{", first, last) < 0:
            yield first, last
            first = last
        at = text.find(form.start, first)


def unfinished(text: bytes, form: Form, begin: int) -> int:
    """Where, after `begin`, samples start that may go on beyond the end of `text`, or only their `start` may."""
    at = text.rfind(form.start, begin)
    if at >= 0 and text.find(form.end, at) < 0 and text.find(b"{", at) < 0:
        return max(begin, at - 1)  # with the sign before it, which may make it a part of a string
    return max(begin, len(text) - len(form.start))


def parse(texts: Sequence[bytes], form: Form) -> tuple[Floats, Floats, list[int]] | None:
    """Times (Unix s) and values of all series, and how many each has; None when a text is not just pairs."""
    lines = [text.replace(form.between, b"\n") for text in texts]
    shorter = len(form.between) - 1
    counts = [1 + (len(text) - len(cut)) // shorter for text, cut in zip(texts, lines, strict=True)]
    together = b"\n".join([*lines, b""])
    rows = together.replace(form.middle, b",")
    # With a `middle` in every line, and all of them replaced, the two columns below leave no room for other commas.
    if len(together) - len(rows) != sum(counts) * (len(form.middle) - 1) or not _like_json(rows, sum(counts)):
        return None
    try:
        options = csv.ReadOptions(use_threads=False, column_names=["t", "v"], block_size=max(len(rows), 1))
        table = csv.read_csv(pa.BufferReader(rows), options, _AS_TEXT, _AS_NUMBERS)
    except pa.ArrowInvalid:
        return None
    times, values = _floats(table.column("t")), _floats(table.column("v"))
    if len(times) != sum(counts) or (b"(" in rows and np.isnan(values).any()):  # nan(1) is one in C only
        return None
    return times, values, counts


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.from_dlpack(column.combine_chunks())  # type: ignore[return-value]  # to_numpy would import pandas


def _like_json(rows: bytes, expected: int) -> bool:
    """Whether nothing is there that passes for a number but is not JSON: 01, +1, .5, 5., tabs."""
    signs = np.frombuffer(rows, dtype=np.uint8)
    ends = np.flatnonzero(signs == ord("\n"))
    first = signs[np.concatenate([[0], ends[:-1] + 1])]
    dots = np.flatnonzero(signs == ord("."))
    return bool(
        len(ends) == expected
        and ((first >= ord("1")) & (first <= ord("9"))).all()
        and _digits(signs[dots - 1])
        and _digits(signs[dots + 1])
        and b"\t" not in rows
        and b"\r" not in rows
    )


def _digits(signs: npt.NDArray[np.uint8]) -> bool:
    return bool(((signs >= ord("0")) & (signs <= ord("9"))).all())

"""A streaming reader of `kepler_query.json`: labels are read, samples are only located until they are needed.

So the memory is that of the labels of one metric and of a block of text, however long the file is.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from kepler_train.errors import UserError
from kepler_train.samples import strict_json
from kepler_train.samples.decoding import Cut, DecodedSeries, decode_series, parts_of
from kepler_train.samples.labels import METRIC_NAME, Labels
from kepler_train.samples.sample_text import Form, form_of, spans, unfinished

Span = tuple[int, int]  # where the text of samples begins and ends in a file (bytes)
Located = tuple[Labels, Span | DecodedSeries]

_BLOCK = 250_000  # bytes read at a time: memory of that size is used again, more of it is fetched anew by the kernel
_PART = 8_000_000  # bytes of samples decoded at a time
# Within so many bytes the form of the samples shows, or they are taken for unusual ones.
_LEARN = 64_000_000
_BLANKS = re.compile(r"[ \t\r\n]*")
# The end of what was read may cut a word of JSON in two, the longest being -Infinity.
_LONGEST_WORD = 10


class KeplerQueryReader:
    """The metrics of a seekable file of bytes, one after the other."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._form: Form | None = None
        self._held, self._at = b"", 0  # what was read and not looked through, and where it begins in the file
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._text, self._next = "", 0  # the JSON with NaN for samples, and how much of it is done
        self._ended = False
        self._spans: dict[int, Span] = {}  # of the samples by the number of their cut
        self._cuts, self._met = 0, 0  # made, and met in the JSON
        self._json = strict_json.decoder(self._cut)

    def metrics(self) -> Iterator[tuple[str, list[Located]]]:
        """Yield each metric with its series; raise ValueError where the text is not JSON."""
        if self._sign() not in ("{", ""):
            raise UserError("This is not a query: a list of series by metric is expected.")
        self._take("{")
        if self._sign() == "}":
            return self._finish()
        seen: set[str] = set()
        while True:
            metric = self._value()
            if not isinstance(metric, str):
                raise ValueError("the name of a metric is missing")
            if metric in seen:
                raise ValueError("a metric is there twice")
            seen.add(metric)
            self._take(":")
            yield metric, self._series(metric)
            if self._sign() == "}":
                return self._finish()
            self._take(",")

    def decoded(self, series: list[Located]) -> Iterator[list[DecodedSeries]]:
        """Yield series with their samples, a part of bounded size at a time."""
        part: list[DecodedSeries | tuple[Labels, bytes]] = []
        size = 0
        for labels, where in series:
            part.append(where if isinstance(where, DecodedSeries) else (labels, self._samples(*where)))
            size += len(where.times) if isinstance(where, DecodedSeries) else where[1] - where[0]
            if size > _PART:
                yield self._decode(part)
                part, size = [], 0
        if part:
            yield self._decode(part)

    def _decode(self, part: list[DecodedSeries | tuple[Labels, bytes]]) -> list[DecodedSeries]:
        texts = [series for series in part if not isinstance(series, DecodedSeries)]
        decoded = decode_series(texts, self._form)
        return [series if isinstance(series, DecodedSeries) else next(decoded) for series in part]

    def _samples(self, first: int, last: int) -> bytes:
        self._source.seek(first)
        return self._source.read(last - first)

    def _series(self, metric: str) -> list[Located]:
        if self._sign() not in ("[", ""):
            raise UserError(f"{metric} is not a list of series.")
        self._take("[")
        located: list[Located] = []
        while self._sign() != "]":
            if located:
                self._take(",")
            labels, samples = parts_of(self._value())
            labels = {METRIC_NAME: metric, **labels}
            if isinstance(samples, Cut):
                located.append((labels, self._spans.pop(samples.number)))
            else:
                located += [(labels, series) for series in decode_series([(labels, samples)], None)]
        self._take("]")
        return located

    def _finish(self) -> None:
        self._take("}")
        if self._sign():
            raise ValueError("something follows the end")
        if self._spans:
            raise ValueError("samples stand where no series is")

    def _take(self, expected: str) -> None:
        if self._sign() != expected:
            raise ValueError(f"{expected} is expected after {self._text[: self._next][-40:]!r}")
        self._next += 1

    def _sign(self) -> str:
        """Return the next character that is no blank; nothing at the end."""
        while True:
            self._next = _BLANKS.match(self._text, self._next).end()  # type: ignore[union-attr]
            if self._next < len(self._text) or not self._more():
                return self._text[self._next : self._next + 1]

    def _value(self) -> Any:
        """Return the next value; more is read as long as it may only be cut short."""
        self._sign()
        while True:
            met = self._met
            try:
                value, self._next = self._json.raw_decode(self._text, self._next)
            except json.JSONDecodeError as error:
                cut_short = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _LONGEST_WORD
                if not cut_short or not self._more():
                    raise
                self._met = met
            else:
                return value

    def _cut(self, _: str) -> Cut:
        if self._met == self._cuts:
            raise ValueError("NaN is not a number of JSON")
        self._met += 1
        return Cut(self._met - 1)

    def _more(self) -> bool:
        """Read on, at least as much again as is pending, so that long values are not parsed time and again."""
        if self._ended:
            return False
        size = max(_BLOCK, len(self._held), len(self._text) - self._next)
        self._source.seek(self._at + len(self._held))
        block = self._source.read(size)
        self._ended = len(block) < size
        text = self._held + block
        self._form = self._form or form_of(text)
        if self._form is None and not self._ended and len(text) < _LEARN:
            self._held = text
            return True
        kept, done = self._without_samples(text)
        self._text = self._text[self._next :] + self._utf8.decode(kept, self._ended)
        self._next = 0
        self._held, self._at = text[done:], self._at + done
        return True

    def _without_samples(self, text: bytes) -> tuple[bytes, int]:
        """Return the text with NaN for samples, and how much of it could be searched."""
        rest, done = [], 0
        if self._form is not None:
            for first, last in spans(text, self._form, ended=self._ended):
                rest.append(text[done : first - self._form.brackets])
                self._spans[self._cuts] = self._at + first, self._at + last
                self._cuts += 1
                done = last + len(self._form.end)
        end = len(text) if self._ended or self._form is None else unfinished(text, self._form, done)
        return b"NaN".join([*rest, text[done:end]]), end

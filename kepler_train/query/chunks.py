"""Pieces of a window that are asked for one by one, each small enough for the server and for our memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

# About 8 MB of JSON; several of them are on the way or being decoded at once.
SAMPLES = 250_000
LONGEST, SHORTEST = 24 * 3600_000, 60_000  # ms
# Servers refuse more than 11,000 points of a series at once.
_POINTS = 10_000
_GROWTH = 4
# A server that never answers is asked for less only so often.
_MOST_HALVINGS = 4


@dataclass
class Asked:
    """A metric to ask for: which series of it, and how long a piece of time may be (ms).

    The first piece allows for a scrape per second of every series in the window. What comes back then sets the
    length: scrapes are rarer as a rule, and of many short-lived series only a few are there at a time.
    """

    metric: str
    selector: str
    columns: pa.Schema
    series: int
    step: int = 0  # ms between points; 0: raw samples
    longest: int = field(init=False)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        self.longest = min(LONGEST, _POINTS * self.step) if self.step else LONGEST
        self.length = self._bounded(SAMPLES * max(self.step, 1000) // max(self.series, 1))

    def saw(self, samples: int, milliseconds: int) -> None:
        """Choose the next length by what a piece held; a gap says nothing."""
        if samples:
            wished = SAMPLES * milliseconds // samples
            self.length = self._bounded(min(wished, _GROWTH * max(milliseconds, self.length)))

    def was_too_long(self, milliseconds: int) -> None:
        """Ask for at most half of that from now on."""
        self.longest = max(min(self.longest, milliseconds // 2), 1)
        self.length = self._bounded(self.length)

    def _bounded(self, length: int) -> int:
        return min(max(length, SHORTEST), self.longest)


@dataclass(frozen=True)
class Chunk:
    """The samples of a metric with after < time ≤ until (Unix ms)."""

    asked: Asked
    after: int
    until: int
    halvings: int = 0

    @property
    def length(self) -> int:
        """Time that it covers (ms)."""
        return self.until - self.after

    def halves(self, *, slow: bool) -> tuple[Chunk, Chunk] | None:
        """Two chunks with the same samples; None when it is as short as it may get."""
        shortest = max(SHORTEST, 2 * self.asked.step)
        if self.length <= shortest or (slow and self.halvings >= _MOST_HALVINGS):
            return None
        middle, halvings = self.after + self.length // 2, self.halvings + slow
        return Chunk(self.asked, self.after, middle, halvings), Chunk(self.asked, middle, self.until, halvings)

    def points(self) -> tuple[int, int]:
        """The first and the last point (Unix ms) of a chunk with a step, which are its multiples."""
        return (self.after // self.asked.step + 1) * self.asked.step, self.until // self.asked.step * self.asked.step


def chunks(asked: Asked, start: int, end: int) -> Iterator[Chunk]:
    """Cut [start, end] (Unix ms) into chunks; each is as long as the answers so far make advisable."""
    after = start - 1  # a sample at the very start of the window is in it
    while after < end:
        until = min(after + asked.length, end)
        yield Chunk(asked, after, until)
        after = until

"""Chunk sizes: a window is downloaded piece by piece, each small enough for the server and for our memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

# About 8 MB of JSON; several chunks are on the way or being decoded at once.
SAMPLES_PER_CHUNK = 250_000
LONGEST_CHUNK, SHORTEST_CHUNK = 24 * 3600_000, 60_000  # ms
# An answer that is larger than this is asked for in halves, so that what is in memory at once stays bounded.
LARGEST_CHUNK = 64 << 20  # bytes
# Servers refuse more than 11,000 points of a series at once.
POINTS_PER_SERIES = 10_000
_GROWTH = 4
# A server that never answers is asked for less only so often.
_MOST_HALVINGS = 4


@dataclass
class MetricDownload:
    """A metric to download: the selector of its series, and how long its next chunk may be (ms).

    The first chunk allows for a scrape per second of every series in the window. The answers then set the length:
    scrapes are rarer as a rule, and of many short-lived series only a few exist at a time.
    """

    metric: str
    selector: str
    columns: pa.Schema
    series: int
    step: int = 0  # ms between points; 0: raw samples
    longest: int = field(init=False)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        self.longest = min(LONGEST_CHUNK, POINTS_PER_SERIES * self.step) if self.step else LONGEST_CHUNK
        self.length = self._bounded(SAMPLES_PER_CHUNK * max(self.step, 1000) // max(self.series, 1))

    def adapt(self, samples: int, milliseconds: int) -> None:
        """Choose the next length by the samples that a chunk held; without any, time is passed ever faster."""
        if samples:
            ideal = SAMPLES_PER_CHUNK * milliseconds // samples
            self.length = self._bounded(min(ideal, _GROWTH * max(milliseconds, self.length)))
        else:
            self.length = self._bounded(max(self.length, _GROWTH * milliseconds))

    def shorten(self, milliseconds: int) -> None:
        """Limit chunks to half of a length that was too long for the server."""
        self.longest = max(min(self.longest, milliseconds // 2), 1)
        self.length = self._bounded(self.length)

    def _bounded(self, length: int) -> int:
        return min(max(length, SHORTEST_CHUNK), self.longest)


@dataclass(frozen=True)
class Chunk:
    """The samples of a metric with after < time ≤ until (Unix ms)."""

    download: MetricDownload
    after: int
    until: int
    halvings: int = 0

    @property
    def length(self) -> int:
        """Return the time that it covers (ms)."""
        return self.until - self.after

    def halves(self, *, slow: bool) -> tuple[Chunk, Chunk] | None:
        """Return two chunks with the same samples, or None when it is as short as it may get."""
        shortest = max(SHORTEST_CHUNK, 2 * self.download.step)
        if self.length <= shortest or (slow and self.halvings >= _MOST_HALVINGS):
            return None
        middle, halvings = self.after + self.length // 2, self.halvings + slow
        return Chunk(self.download, self.after, middle, halvings), Chunk(self.download, middle, self.until, halvings)

    def points(self) -> tuple[int, int]:
        """Return the first and the last multiple of the step in the chunk (Unix ms)."""
        step = self.download.step
        return (self.after // step + 1) * step, self.until // step * step


def split_window(download: MetricDownload, start: int, end: int) -> Iterator[Chunk]:
    """Yield the chunks of [start, end] (Unix ms), each as long as the answers so far make advisable."""
    after = start - 1  # a sample at the very start of the window is in it
    while after < end:
        until = min(after + download.length, end)
        yield Chunk(download, after, until)
        after = until

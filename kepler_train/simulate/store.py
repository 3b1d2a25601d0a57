"""Samples in memory: one pair of arrays per series, found by its labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kepler_train.arrays import Floats
from kepler_train.errors import UserError
from kepler_train.simulate.series import Metric, Scrapes

Millis = NDArray[np.int64]
Matcher = Callable[[str], bool]


@dataclass(frozen=True)
class StoredSeries:
    """One series; `labels` include `__name__`, `times` are Unix milliseconds, ascending."""

    labels: dict[str, str]
    times: Millis
    values: Floats


class SampleStore:
    """Every series, in the order in which Prometheus lists them."""

    def __init__(self, series: Iterable[StoredSeries]) -> None:
        self.series = sorted((s for s in series if len(s.times)), key=lambda s: sorted(s.labels.items()))
        self._by_name: dict[str, list[StoredSeries]] = {}
        for s in self.series:
            self._by_name.setdefault(s.labels["__name__"], []).append(s)

    def select(self, matchers: Iterable[tuple[str, Matcher]], name: str | None = None) -> list[StoredSeries]:
        """Return the series for which every matcher holds; a missing label is an empty one."""
        rest = list(matchers)
        candidates = self.series if name is None else self._by_name.get(name, [])
        return [s for s in candidates if all(match(s.labels.get(label, "")) for label, match in rest)]

    def during(self, start: float, end: float) -> list[StoredSeries]:
        """Return the series with samples between two moments (ms)."""
        return [s for s in self.series if s.times[0] <= end and s.times[-1] >= start]


def store_of(nodes: Iterable[tuple[Scrapes, list[Metric]]]) -> SampleStore:
    """Return what Prometheus holds after it has scraped these nodes."""
    series = []
    for scrapes, families in nodes:
        millis = np.round(scrapes.recorded * 1000).astype(np.int64)
        for family in families:
            for curve in family.curves:
                seen, values = curve.sample(family.kind, scrapes)
                # Prometheus drops labels with empty values.
                labels = {"__name__": family.name} | {k: v for k, v in curve.labels.items() if v}
                series.append(StoredSeries(labels, millis[seen], values))
    return SampleStore(series)


def read_store(path: Path) -> SampleStore:
    """Return the samples of an OpenMetrics file whose series are written one after the other."""
    heads: dict[str, tuple[list[str], list[str]]] = {}
    ended = False
    try:
        with path.open(encoding="utf-8") as lines:
            head, values, times = "\0", list[str](), list[str]()
            for number, line in enumerate(lines, start=1):
                if not line.startswith(head):
                    if line.startswith("#"):
                        ended = line.startswith("# EOF")
                        continue
                    head = line[: line.rfind("}") + 1] or line.split(" ", 1)[0]
                    values, times = heads.setdefault(head, ([], []))
                rest = line[len(head) :].split()
                if len(rest) != 2:
                    raise UserError(f"{path}, line {number}: a sample needs a value and a time.")
                values.append(rest[0])
                times.append(rest[1])
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {path}: {getattr(error, 'strerror', None) or 'it is not text'}.") from error
    if not ended:
        raise UserError(f"{path} does not end with '# EOF': it is not OpenMetrics, or was cut off.")
    return SampleStore(_parsed(path, head, values, times) for head, (values, times) in heads.items())


def _parsed(path: Path, head: str, values: list[str], times: list[str]) -> StoredSeries:
    name, _, inside = head.partition("{")
    pairs = re.findall(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"', inside)
    labels = {label: re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text) for label, text in pairs}
    try:
        at = np.round(np.array(times, dtype=float) * 1000).astype(np.int64)
        series = StoredSeries(
            {"__name__": name} | {k: v for k, v in labels.items() if v}, at, np.array(values, dtype=float)
        )
    except ValueError as error:
        raise UserError(f"{path}: {head} has a sample that is not a number.") from error
    if np.any(np.diff(at) <= 0):
        raise UserError(f"{path}: the samples of {head} are not in order of time.")
    return series

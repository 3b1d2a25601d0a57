"""One series for one quantity: the same counter scraped twice must not count twice.

A series is told apart by what it measures (its node, container, zone, socket, mode …) and by how it was scraped (job,
target, the exporter's pod, the Prometheus replica). Series that agree in the first and differ only in the second are
one quantity: *duplicates* where they overlap in time, *successors* where they do not, as when the exporter's pod was
replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kepler_train.samples.parquet import Series

# Labels that say how a series came to be scraped: service discovery, rules of the operator, replicas.
SCRAPE_LABELS = frozenset(
    {"job", "instance", "endpoint", "service", "metrics_path", "prometheus", "prometheus_replica", "replica"}
    | {"monitor", "receive_replica", "controller_revision_hash", "pod_template_generation", "pod_template_hash"}
)
# The pod of the exporter; exporters that report on other pods under these names keep them as what they measure.
EXPORTER_POD_LABELS = frozenset({"pod", "container", "namespace", "pod_ip"})
# A new counter takes up an old one when it rises across the seam at most this many times as fast as ever before.
_SEAM_RATE = 2.0

Identity = frozenset[tuple[str, str]]


def identity(labels: Mapping[str, str], *, exporter_pod: bool = True) -> Identity:
    """Return what a series of a node measures: its labels without those of how it was scraped."""
    scraped = SCRAPE_LABELS | EXPORTER_POD_LABELS if exporter_pod else SCRAPE_LABELS
    return frozenset(pair for pair in labels.items() if pair[0] not in scraped)


def distinct(series: Sequence[Series], *, counter: bool = True, exporter_pod: bool = True) -> list[Series]:
    """Return the series of one metric and node, each quantity once.

    Of duplicates the one with most samples stays, and others fill in only before its first and after its last sample;
    successors become one series. A counter that does not go on where the one before it ended starts again at 0 there,
    so that the seam is a reset and never a jump.
    """
    return [_joined(copies, counter) for copies in _same(series, exporter_pod)]


def duplicated(series: Sequence[Series], *, exporter_pod: bool = True) -> int:
    """Return how many series of one metric and node repeat, at least in part, what another one holds."""
    return sum(len(copies) - _most_apart(copies) for copies in _same(series, exporter_pod) if len(copies) > 1)


def _same(series: Iterable[Series], exporter_pod: bool) -> list[list[Series]]:
    groups: dict[Identity, list[Series]] = {}
    for member in series:
        if len(member.times):
            groups.setdefault(identity(member.labels, exporter_pod=exporter_pod), []).append(member)
    return list(groups.values())


def _most_apart(copies: list[Series]) -> int:
    """Return how many series of one quantity can be chosen without overlap in time: earliest end first."""
    chosen, free_from = 0, -np.inf
    for copy in sorted(copies, key=lambda copy: copy.times[-1]):
        if copy.times[0] > free_from:
            chosen, free_from = chosen + 1, copy.times[-1]
    return chosen


def _joined(copies: list[Series], counter: bool) -> Series:
    if len(copies) == 1:
        return copies[0]
    pieces: list[Series] = []
    for copy in sorted(copies, key=lambda copy: -len(copy.times)):
        pieces += _outside(copy, pieces)
    pieces.sort(key=lambda piece: piece.times[0])
    values = [pieces[0].values]
    for before, piece in pairwise(pieces):
        values.append(piece.values if not counter or _goes_on(before, piece) else piece.values - _start(piece))
    times = np.concatenate([piece.times for piece in pieces])
    return Series(pieces[0].labels, times, np.concatenate(values), sum(copy.doubled for copy in copies))


def _outside(series: Series, taken: list[Series]) -> list[Series]:
    """Return the stretches of a series that lie before, between and after the pieces taken already."""
    if not taken:
        return [series]
    free = np.ones(len(series.times), dtype=bool)
    for piece in taken:
        free &= (series.times < piece.times[0]) | (series.times > piece.times[-1])
    # A stretch ends where a taken piece lies between two free samples, even if it hides none of this series.
    cuts = np.searchsorted(series.times, np.array([piece.times[0] for piece in taken]))
    edges = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(free)) + 1, cuts, [len(free)]]))
    return [
        Series(series.labels, series.times[begin:end], series.values[begin:end])
        for begin, end in pairwise(edges)
        if free[begin]
    ]


def _goes_on(before: Series, after: Series) -> bool:
    """Return whether a counter continues another: it has not fallen, nor risen faster than it ever did."""
    rise = after.values[0] - before.values[-1]
    fastest = max(_fastest(before), _fastest(after))
    return bool(rise <= 0 or rise <= _SEAM_RATE * fastest * (after.times[0] - before.times[-1]))


def _start(series: Series) -> float:
    known = series.values[np.isfinite(series.values)]
    return float(known[0]) if len(known) else 0.0


def _fastest(series: Series) -> float:
    rates: npt.NDArray[np.float64] = np.diff(series.values) / np.diff(series.times)
    return float(np.max(rates[np.isfinite(rates)], initial=0.0))

"""When a node without a meter was scraped, and when its exporter began anew: as the series of its work tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kepler_train.catalog import catalog
from kepler_train.catalog.model import ExporterFeature
from kepler_train.errors import DataError
from kepler_train.extract.clock import Bools, Clock, Windows
from kepler_train.extract.counters import Floats
from kepler_train.extract.sources import Feature
from kepler_train.extract.timing import around, refresh_and_moves, running
from kepler_train.samples.duplicates import EXPORTER_POD_LABELS, SCRAPE_LABELS, Identity, distinct
from kepler_train.samples.parquet import MetricFile, Series
from kepler_train.validate.clock import clock_steps

# Samples that are read at once: 128 MB of times and values.
_AT_ONCE = 1 << 23


class WorkTiming:
    """By the features of a node, all series of which are scraped together.

    The clock is the scrapes of one feature: of Kepler's own if there are any, of containers, whose counters begin anew
    with the exporter, and the main one rather than another.
    """

    def __init__(self, node: str, features: Sequence[Feature], main: str | None, habit: float | None) -> None:
        self._of_kepler = {feature.name for feature in features if _of_kepler(feature)}
        self._habit = habit if self._of_kepler else None  # other exporters read when they are scraped
        most = max(features, key=lambda one: (_of_kepler(one), one.of_node is None, one.name == main, _length(one)))
        seen = _scraped_together(most)
        scrapes = _scrapes(seen)
        if len(scrapes) < 2:
            raise DataError(
                f"Node {node or 'without a name'} was scraped {'once' if len(scrapes) else 'never'} in the window, and"
                " a rate needs two scrapes: choose a longer window."
            )
        self.clock = Clock(scrapes)
        self._restarts = _restarts(self.clock, seen)

    def reads(self, work: Mapping[str, Floats], /) -> tuple[float | None, Bools]:
        """As the work of all containers tells, each feature in units of its mean."""
        moving = [gained / gained.mean() for name, gained in work.items() if name in self._of_kepler and gained.any()]
        counters = [Series({}, self.clock.times, running(gained)) for gained in moving]
        refresh, moved = refresh_and_moves(self.clock, counters, self._habit)
        return refresh, moved | (self._restarts > 0)  # a counter that is back at 0 has moved

    def disturbed(self, windows: Windows) -> Bools:
        """Windows in which the exporter was restarted, or the clock of Prometheus was set."""
        return (windows.added(self._restarts) > 0) | around(clock_steps(self.clock.times, self.clock.interval), windows)


def _of_kepler(feature: Feature) -> bool:
    """Whether Kepler itself exports a feature."""
    return not feature.third_party and not isinstance(feature.of_node, ExporterFeature)


def _length(feature: Feature) -> float:
    """Samples of a series of the feature, on average."""
    files = {file for own in feature.containers.values() for file, _ in own}
    return max(file.samples / len(file.labels) for file in files)


@dataclass
class _Together:
    """Series that share the way they were scraped and their times; how many fell in each of their steps."""

    way: Identity
    times: Floats
    fell: npt.NDArray[np.int64]
    series: int = 0


def _scraped_together(feature: Feature) -> list[_Together]:
    found: dict[tuple[Identity, int], _Together] = {}
    for series, counts in _series(feature):
        if not len(series.times):
            continue
        way = frozenset(pair for pair in series.labels.items() if pair[0] in SCRAPE_LABELS | EXPORTER_POD_LABELS)
        key = way, id(series.times)  # the array is kept below, so that no other gets its id
        if key not in found:
            found[key] = _Together(way, series.times, np.zeros(len(series.times) - 1, dtype=np.int64))
        found[key].series += 1
        if counts:
            found[key].fell += np.diff(series.values) < 0
    return list(found.values())


def _series(feature: Feature) -> Iterator[tuple[Series, bool]]:
    """The series of a feature as they were scraped, some at a time, and whether each is a counter."""
    places: dict[MetricFile, list[int]] = {}
    for file, number in (place for own in feature.containers.values() for place in own):
        places.setdefault(file, []).append(number)
    for file, numbers in places.items():
        counts = (feature.of_node.kind if feature.of_node else catalog().kind_of(file.metric)) == "counter"
        at_once = max(1, _AT_ONCE * len(file.labels) // max(file.samples, 1))
        numbers.sort()
        for first in range(0, len(numbers), at_once):
            yield from ((series, counts) for series in file.read(numbers[first : first + at_once]))


def _scrapes(seen: list[_Together]) -> Floats:
    """When any of the series was scraped (Unix s).

    A second job that scrapes the same does not count, and the next pod of the exporter goes on where the last ended: as
    with the samples of a counter.
    """
    by_way: dict[Identity, list[Floats]] = {}
    for own in seen:
        by_way.setdefault(own.way, []).append(own.times)
    every = (np.unique(np.concatenate(times)) for times in by_way.values())
    joined = distinct([Series({}, times, np.zeros(len(times))) for times in every], counter=False)
    return joined[0].times if joined else np.empty(0)


def _restarts(clock: Clock, seen: list[_Together]) -> Floats:
    """1 for the steps in which half of the counters that were there before and after have fallen, 0 for the others.

    The exporter began anew, and nobody knows what was done since the scrape before. A counter that falls alone is that
    of a process whose number was given to another.
    """
    there, fell = np.zeros(len(clock.steps)), np.zeros(len(clock.steps))
    for own in seen:
        first = clock.place_of(own.times)
        if first is not None:
            steps = slice(first, first + len(own.fell))
            there[steps] += own.series
            fell[steps] += own.fell
    return ((fell > 0) & (2 * fell >= there)).astype(float)

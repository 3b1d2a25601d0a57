"""When a node without a meter was scraped, and when its exporter was restarted, by the series of its work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kepler_train.arrays import Bools, Floats
from kepler_train.catalog.model import ExporterFeature
from kepler_train.errors import DataError
from kepler_train.extract.counters import running_total
from kepler_train.extract.feature_series import Feature
from kepler_train.extract.timing import around, refresh_and_moves
from kepler_train.extract.windows import Clock, ScrapeWindows
from kepler_train.samples.duplicates import EXPORTER_POD_LABELS, SCRAPE_LABELS, Identity, distinct
from kepler_train.samples.parquet import MetricFile, Series
from kepler_train.validate.clock import clock_steps

# Samples that are read at once: 128 MB of times and values.
_AT_ONCE = 1 << 23


class WorkTiming:
    """Timing by the features of a node, all series of which are scraped together.

    The clock is the scrapes of one feature: preferably one of Kepler's own, of containers, whose counters restart with
    the exporter, and the main feature.
    """

    def __init__(self, node: str, features: Sequence[Feature], main: str | None, habit: float | None) -> None:
        self._kepler_features = {feature.name for feature in features if _of_kepler(feature)}
        self._habit = habit if self._kepler_features else None  # other exporters read when they are scraped
        clock_feature = max(
            features,
            key=lambda feature: (_of_kepler(feature), not feature.of_node, feature.name == main, _samples(feature)),
        )
        groups = _scrape_groups(clock_feature)
        scrapes = _scrapes(groups)
        if len(scrapes) < 2:
            raise DataError(
                f"Node {node or 'without a name'} was scraped {'once' if len(scrapes) else 'never'} in the window, and"
                " a rate needs two scrapes: choose a longer window."
            )
        self.clock = Clock(scrapes)
        self._restarts = _restarts(self.clock, groups)

    def reads(self, work: Mapping[str, Floats], /) -> tuple[float | None, Bools]:
        """Return how often the exporter reads its counters (s), and the steps in which any of them moved.

        `work` is what all containers gained in every step, by feature; each counts in units of its mean.
        """
        kepler_work = (gains for name, gains in work.items() if name in self._kepler_features and gains.any())
        counters = [Series({}, self.clock.times, running_total(gains / gains.mean())) for gains in kepler_work]
        refresh, moved = refresh_and_moves(self.clock, counters, self._habit)
        return refresh, moved | (self._restarts > 0)  # a counter that is back at 0 has moved

    def disturbed(self, windows: ScrapeWindows) -> Bools:
        """Return the windows in which the exporter was restarted, or the clock of Prometheus was set."""
        restarted = windows.sum_steps(self._restarts) > 0
        return restarted | around(clock_steps(self.clock.times, self.clock.interval), windows)


def _of_kepler(feature: Feature) -> bool:
    """Return whether Kepler itself exports a feature."""
    return not feature.third_party and not isinstance(feature.of_node, ExporterFeature)


def _samples(feature: Feature) -> float:
    """Return the mean number of samples of a series of the feature."""
    files = {file for places in feature.containers.values() for file, _ in places}
    return max(file.samples / len(file.labels) for file in files)


@dataclass
class _ScrapeGroup:
    """Series that share their scrape labels and their times; `falls` counts those that fell in each of their steps."""

    scrape: Identity
    times: Floats
    falls: npt.NDArray[np.int64]
    series: int = 0


def _scrape_groups(feature: Feature) -> list[_ScrapeGroup]:
    groups: dict[tuple[Identity, int], _ScrapeGroup] = {}
    for series, is_counter in _read_series(feature):
        if not len(series.times):
            continue
        scrape = frozenset(pair for pair in series.labels.items() if pair[0] in SCRAPE_LABELS | EXPORTER_POD_LABELS)
        key = scrape, id(series.times)  # the array is kept below, so that no other gets its id
        if key not in groups:
            groups[key] = _ScrapeGroup(scrape, series.times, np.zeros(len(series.times) - 1, dtype=np.int64))
        groups[key].series += 1
        if is_counter:
            groups[key].falls += np.diff(series.values) < 0
    return list(groups.values())


def _read_series(feature: Feature) -> Iterator[tuple[Series, bool]]:
    """Yield the series of a feature as they were scraped, some at a time, and whether each is a counter."""
    places: dict[MetricFile, list[int]] = {}
    for file, number in (place for series in feature.containers.values() for place in series):
        places.setdefault(file, []).append(number)
    for file, numbers in places.items():
        is_counter = feature.kind_in(file) == "counter"
        at_once = max(1, _AT_ONCE * len(file.labels) // max(file.samples, 1))
        numbers.sort()
        for first in range(0, len(numbers), at_once):
            yield from ((series, is_counter) for series in file.read(numbers[first : first + at_once]))


def _scrapes(groups: list[_ScrapeGroup]) -> Floats:
    """Return when any of the series was scraped (Unix s).

    A second job that scrapes the same does not count, and the next pod of the exporter continues the last: as with the
    samples of a counter.
    """
    by_scrape: dict[Identity, list[Floats]] = {}
    for group in groups:
        by_scrape.setdefault(group.scrape, []).append(group.times)
    merged = (np.unique(np.concatenate(times)) for times in by_scrape.values())
    joined = distinct([Series({}, times, np.zeros(len(times))) for times in merged], counter=False)
    return joined[0].times if joined else np.empty(0)


def _restarts(clock: Clock, groups: list[_ScrapeGroup]) -> Floats:
    """Return 1 for the steps in which at least half of the counters scraped before and after have fallen, else 0.

    The exporter was restarted, and nobody knows what was done since the scrape before. A counter that falls alone is
    that of a process whose number was given to another.
    """
    scraped, fallen = np.zeros(len(clock.steps)), np.zeros(len(clock.steps))
    for group in groups:
        first = clock.place_of(group.times)
        if first is not None:
            steps = slice(first, first + len(group.falls))
            scraped[steps] += group.series
            fallen[steps] += group.falls
    return ((fallen > 0) & (2 * fallen >= scraped)).astype(float)

"""Training frames: rates of every feature and watts of every component, in windows of whole scrapes per node.

Node frame: a row per window: `time` (its end), `node`, `workload`, features (1/s, summed over containers) and
`<source>/<component>_power` (W). Container frame: a row per window and container with its features. Every feature
group and energy source is a selection of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kepler_train.catalog import Dialect, catalog
from kepler_train.errors import DataError
from kepler_train.extract.clock import steps_at_once, windows_of
from kepler_train.extract.counters import Floats
from kepler_train.extract.increments import add_gains, covered_seconds
from kepler_train.extract.rows import container_rows, node_rows
from kepler_train.extract.scrapes import WorkTiming
from kepler_train.extract.skew import UNKNOWN, Lag, estimate_lag, shifted
from kepler_train.extract.smooth import Smoothing
from kepler_train.extract.sources import Feature, as_counter, features_of
from kepler_train.extract.timing import MeterTiming, Timing, running
from kepler_train.extract.workloads import label_windows, phases_of
from kepler_train.samples.meters import Meter, meters_of, no_meters_of
from kepler_train.samples.metrics import required_metrics
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

if TYPE_CHECKING:
    import pandas as pd  # it takes half a second and 50 MB, and only who asks for frames needs it

# A window counts when the meter covers at least this share of it: what is missing lowers its power by as much.
MIN_COVERAGE = 0.99
# A share of the time since the last refresh tells of a step when the two differ by no more than this part of it.
_WHOLE_STEP = 0.05
# Containers are worked on in batches of about this much memory (bytes), whatever the length of the window.
_BATCH = 128 << 20
# Rows are made ready for about this many windows of containers at once: few enough for the processor's cache.
_ROWS = 1 << 16


@dataclass(frozen=True)
class Frames:
    """The rows of one node."""

    node: pd.DataFrame
    containers: pd.DataFrame
    dropped: int  # windows without complete data


def node_frames(samples: Path, spec: RunSpec, dialect_name: str, schedule: Schedule) -> dict[str, Frames]:
    """Frames of every node in the samples; nodes are never mixed."""
    frames = {}
    for extraction in extractions(samples, spec, dialect_name, schedule):
        containers = pa.concat_tables(extraction.containers()).unify_dictionaries().to_pandas()
        frames[extraction.name] = Frames(extraction.node().to_pandas(), containers, extraction.dropped)
    return frames


def extractions(
    samples: Path, spec: RunSpec, dialect_name: str, schedule: Schedule, nodes: Collection[str] = ()
) -> Iterator[Extraction]:
    """Some nodes of the spec, or all of them, one after the other; a spec without nodes has all that are there."""
    dialect = catalog().dialect(dialect_name)
    meters = meters_of(samples, spec, dialect)
    if not meters:
        sources = ", ".join(spec.energy_sources)
        raise DataError(f"The samples have no energy counters of {sources}: choose a source that was collected.")
    metered = [one.labels for own in meters.values() for meter in own for one in meter.series]
    features = features_of(samples, spec, dialect, required_metrics(spec, dialect_name).nodes(metered))
    asked = sorted(spec.nodes or meters)
    for node in nodes or asked:
        if node not in meters:
            raise no_meters_of(node, meters)
    names = sorted({feature.name for node in asked for feature in features.get(node, [])})
    for node in sorted(nodes or asked):
        yield Extraction(node, meters[node], features[node], names, dialect, schedule, spec)


class Extraction:
    """One node: what is the node's is worked out at once, its containers batch by batch.

    A node without meters has no power; its windows are made by its features.
    """

    def __init__(
        self,
        name: str,
        meters: list[Meter],
        features: list[Feature],
        columns: list[str],
        dialect: Dialect,
        schedule: Schedule,
        spec: RunSpec,
    ) -> None:
        self.name, self._schedule, self._features, self._names = name, schedule, features, columns
        self._meters, self._dialect = meters, dialect
        self._smoothing: Smoothing | None = None
        self._of_containers = [feature for feature in features if feature.of_node is None]
        timing = _timing(name, meters, features, dialect, spec)
        self._clock = timing.clock
        self._batches = self._divided()
        self._kept: dict[str, Floats] = {}
        if len(self._batches) == 1:  # where all containers fit into one batch they are read once
            self._kept = {feature.name: self._gains(feature, self._batches[0]) for feature in self._of_containers}
        self._totals = {feature.name: self._total(feature) for feature in self._of_containers}
        refresh, moved = timing.reads(self._totals)
        self.windows = windows_of(self._clock, steps_at_once(self._clock.interval, refresh, spec.resolution), moved)
        self._complete = ~timing.disturbed(self.windows)
        self._columns: dict[str, Floats] = {}
        self._by_step: dict[str, Floats] = {}
        for feature in features:
            self._columns[feature.name] = (
                self._of_node(feature)
                if feature.of_node
                else self.windows.added(self._totals[feature.name]) / self.windows.seconds
            )
        joules = {f"{meter.name}_power": self._joules(meter.series, meter) for meter in meters}
        self.lag = self._lag(joules, refresh or 0.0)
        self._watts = {column: self._power(gained) for column, gained in joules.items()}
        for meter in meters:
            for one in meter.series:
                covered = covered_seconds(as_counter(one, meter.kind), self._clock)
                self._needs(covered)  # work was reset with energy
                self._needs(self._aligned(covered))
        if spec.extractor == "smooth":
            self._smooth()

    def _smooth(self) -> None:
        """Means over a stretch of time, for what is the node's now and for containers as they are worked on."""
        phases = phases_of(self.windows.starts, self.windows.ends, self.name, self._schedule)
        self._smoothing = Smoothing(self.windows, self._complete, phases)
        for columns in (self._columns, self._watts):
            for name, rates in columns.items():
                columns[name] = self._smoothing.mean(rates)

    @property
    def dropped(self) -> int:
        """How many windows of its time a node lacks: for gaps, resets, or features that were not there."""
        times = self._clock.times
        kept = self.windows.seconds[self._complete].sum()
        return max(round(float(times[-1] - times[0] - kept) / self.window_seconds), 0)

    @property
    def window_seconds(self) -> float:
        """The usual length of a window (s)."""
        return float(np.median(self.windows.seconds)) if len(self.windows) else self._clock.interval

    def node(self) -> pa.Table:
        """Rows of the node."""
        unknown = np.full(len(self.windows), np.nan)  # a feature that only other nodes have
        return self._node_rows({name: self._columns.get(name, unknown) for name in self._names} | self._watts)

    def packages(self) -> pa.Table | None:
        """Power of every component of every package, `<source>/<component>_<package>_power` (W); None with one package.

        Rows are those of the node, whose power is the sum over packages.
        """
        label = self._dialect.energy.package_label
        columns = {
            f"{meter.name}_{package}_power": self._power(self._joules(series, meter))
            for meter in self._meters
            for package, series in (meter.by_package(label).items() if label else ())
        }
        if not columns:
            return None
        mean = self._smoothing.mean if self._smoothing else np.asarray
        return self._node_rows({name: mean(values) for name, values in columns.items()})

    def _node_rows(self, columns: dict[str, Floats]) -> pa.Table:
        """A row for every window that is complete."""
        workloads = label_windows(self.windows.starts, self.windows.ends, self.name, self._schedule)
        kept = {name: values[self._complete] for name, values in columns.items()}
        return node_rows(self.windows.ends[self._complete], self.name, workloads[self._complete].tolist(), kept)

    def containers(self) -> Iterator[pa.Table]:
        """Rows of containers, some containers at a time; at least one table, which may be empty."""
        at_once = max(1, _ROWS // max(len(self.windows), 1))
        for batch in self._batches:
            gained = {feature.name: self._gained(feature, batch) for feature in self._of_containers}
            for first in range(0, max(len(batch), 1), at_once):
                some = slice(first, first + at_once)
                yield self._rows(batch[some], {name: own[some] for name, own in gained.items()})

    def _divided(self) -> list[list[str]]:
        """All containers, in batches that fit into memory."""
        names = sorted({container for feature in self._of_containers for container in feature.containers})
        one = max(len(self._clock.steps) * len(self._of_containers) * 8, 1)  # bytes
        size = max(1, _BATCH // one)
        return [names[first : first + size] for first in range(0, len(names), size)] or [[]]

    def _total(self, feature: Feature) -> Floats:
        """What all containers gained in every step."""
        return np.asarray(sum(self._gains(feature, batch).sum(axis=0) for batch in self._batches))

    def _gains(self, feature: Feature, batch: list[str]) -> Floats:
        """What each container of a batch gained in every step; 0 where it did not run."""
        if feature.name in self._kept:
            return self._kept[feature.name]
        gains = np.zeros((len(batch), len(self._clock.steps)))
        position = {name: number for number, name in enumerate(batch)}
        for container, series in feature.read(batch):
            add_gains(gains[position[container]], series, self._clock, from_birth=feature.from_birth)
        return gains

    def _gained(self, feature: Feature, batch: list[str]) -> Floats:
        """What each container of a batch gained in every window."""
        gained = self.windows.added(self._gains(feature, batch))
        seconds = self.windows.seconds
        return self._smoothing.mean(gained / seconds) * seconds if self._smoothing else gained

    def _rows(self, batch: list[str], gained: dict[str, Floats]) -> pa.Table:
        """A row per window and container that did any work in it.

        A feature of the node has the node's value in every row, or is shared in proportion to another feature.
        """
        worked = np.zeros((len(batch), len(self.windows)), dtype=bool)
        for own in gained.values():
            worked |= own != 0
        worked &= self._complete
        places = np.flatnonzero(worked)
        container, window = np.divmod(places, max(len(self.windows), 1))
        seconds = self.windows.seconds[window]
        columns = {name: own.take(places) / seconds for name, own in gained.items()}
        for feature in self._features:
            if feature.of_node is None:
                continue
            columns[feature.name] = self._columns[feature.name][window]
            share_by = feature.of_node.share_by
            if share_by in gained:
                whole = self._columns[share_by][window] * seconds
                columns[feature.name] *= np.divide(
                    gained[share_by].take(places), whole, out=np.zeros_like(whole), where=whole > 0
                )
        missing = [name for name in self._names if name not in columns]
        columns |= dict.fromkeys(missing, np.full(len(places) if missing else 0, np.nan))
        in_order = {name: columns[name] for name in self._names}
        return container_rows(self.windows.ends, window, self.name, batch, container, in_order)

    def _joules(self, series: list[Series], meter: Meter) -> Floats:
        """Energy of a component, or of a package of it, in every step (J)."""
        joules = np.zeros(len(self._clock.steps))
        for one in series:
            add_gains(joules, as_counter(one, meter.kind), self._clock, from_birth=False)
        return joules

    def _lag(self, joules: dict[str, Floats], refresh: float) -> Lag:
        """How much later than work the exporter reads energy.

        The sums over processes of later Keplers lack what processes did before they ended, so there it is the node's
        busy share that tells; but a share of the time since the last refresh says nothing of a longer step, and is
        shown for a while after that time in shorter ones. Other exporters are scraped at other times and know nothing
        of it.
        """
        of_node = [f for f in self._features if f.of_node and f.of_node.kind == "mean"]
        if of_node and abs(refresh - self._clock.interval) > _WHOLE_STEP * self._clock.interval:
            return UNKNOWN
        own = [self._by_step[feature.name] for feature in of_node]
        own = own or [self._totals[feature.name] for feature in self._of_containers if not feature.third_party]
        work = [running(gained) for gained in own if gained.any()]
        if not work or not joules:
            return UNKNOWN
        return estimate_lag(self._clock.times, [running(gained) for gained in joules.values()], work, refresh)

    def _aligned(self, by_step: Floats) -> Floats:
        """Energy, or the time it covers, as of the moment at which work was read."""
        if not self.lag.significant:
            return by_step
        return np.nan_to_num(np.diff(shifted(self._clock.times, running(by_step), self.lag.seconds)))

    def _power(self, joules: Floats) -> Floats:
        """Power in every window (W)."""
        return self.windows.added(self._aligned(joules)) / self.windows.seconds

    def _of_node(self, feature: Feature) -> Floats:
        """Rate (1/s) of a feature of the node; a window needs one of its series at least."""
        gains, covered = np.zeros(len(self._clock.steps)), np.zeros(len(self._clock.steps))
        series = [one for _, one in feature.read(feature.containers)]
        for one in series:
            add_gains(gains, one, self._clock, from_birth=False)
            covered = np.maximum(covered, covered_seconds(one, self._clock))
        self._needs(covered)
        if feature.of_node and feature.of_node.combine == "mean":
            gains /= len(series)
        self._by_step[feature.name] = gains
        return self.windows.added(gains) / self.windows.seconds

    def _needs(self, covered: Floats) -> None:
        self._complete &= self.windows.added(covered) >= MIN_COVERAGE * self.windows.seconds


def _timing(name: str, meters: list[Meter], features: list[Feature], dialect: Dialect, spec: RunSpec) -> Timing:
    if meters:
        return MeterTiming(name, meters, dialect.refresh_seconds)
    return WorkTiming(name, features, catalog().group(spec.feature_groups[0]).main, dialect.refresh_seconds)

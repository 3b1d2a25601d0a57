"""Extraction of one node: rates of every feature and watts of every component, in windows of whole scrapes.

Node rows have a row per window: `time` (its end), `node`, `workload`, features (1/s, summed over containers) and
`<source>/<component>_power` (W). Container rows have a row per window and container with its features. Every feature
group and energy source is a selection of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from kepler_train.arrays import Floats
from kepler_train.catalog import Dialect, catalog
from kepler_train.columns import POWER
from kepler_train.errors import DataError
from kepler_train.extract.container_gains import ContainerGains
from kepler_train.extract.counters import as_counter, running_total
from kepler_train.extract.feature_series import Feature, features_by_node
from kepler_train.extract.increments import add_gains, covered_seconds
from kepler_train.extract.meter_lag import UNKNOWN_LAG, MeterLag, estimate_lag, shift_counter
from kepler_train.extract.row_tables import container_rows, node_rows
from kepler_train.extract.smooth import Smoothing
from kepler_train.extract.timing import MeterTiming
from kepler_train.extract.timing_without_meter import WorkTiming
from kepler_train.extract.windows import make_windows, steps_at_once
from kepler_train.extract.workloads import label_windows, phases_of
from kepler_train.samples.meters import Meter, meters_of, no_meters_of
from kepler_train.samples.metrics import required_metrics
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

# A window counts when the meter covers at least this share of it: what is missing lowers its power by as much.
_MIN_COVERAGE = 0.99
# A node's busy share, a mean since the last refresh, covers a step when refresh and step differ by at most this share.
_WHOLE_STEP = 0.05
# Rows are made for about this many windows of containers at once: few enough for the processor's cache.
_ROWS = 1 << 16


def extractions(
    samples: Path, spec: RunSpec, dialect_name: str, schedule: Schedule, nodes: Collection[str] = ()
) -> Iterator[NodeExtraction]:
    """Yield the extraction of each of `nodes`, by default of the nodes of the spec, or else of all in the samples."""
    dialect = catalog().dialect(dialect_name)
    meters = meters_of(samples, spec, dialect)
    if not meters:
        sources = ", ".join(spec.energy_sources)
        raise DataError(f"The samples have no energy counters of {sources}: choose a source that was collected.")
    metered = [series.labels for node_meters in meters.values() for meter in node_meters for series in meter.series]
    features = features_by_node(samples, spec, dialect, required_metrics(spec, dialect_name).nodes(metered))
    run_nodes = sorted(spec.nodes or meters)
    for node in nodes or run_nodes:
        if node not in meters:
            raise no_meters_of(node, meters)
    columns = sorted({feature.name for node in run_nodes for feature in features.get(node, [])})
    for node in sorted(nodes or run_nodes):
        yield NodeExtraction(node, meters[node], features[node], columns, dialect, schedule, spec)


class NodeExtraction:
    """The rows of one node: its own are worked out at once, those of its containers batch by batch.

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
        self.name, self._schedule, self._features, self._columns = name, schedule, features, columns
        self._meters, self._dialect = meters, dialect
        timing = _timing(name, meters, features, dialect, spec)
        self._clock = timing.clock
        self._containers = ContainerGains(features, self._clock)
        refresh, moved = timing.reads(self._containers.totals)
        self.windows = make_windows(self._clock, steps_at_once(self._clock.interval, refresh, spec.resolution), moved)
        self._complete = self.windows.can_be_rows & ~timing.disturbed(self.windows)
        self._node_gains: dict[str, Floats] = {}
        self._rates = {feature.name: self._rate(feature) for feature in features}
        joules = {f"{meter.name}{POWER}": self._joules(meter.series, meter) for meter in meters}
        self.lag = self._lag(joules, refresh or 0.0)
        self._watts = {column: self._power(gains) for column, gains in joules.items()}
        for meter in meters:
            for series in meter.series:
                covered = covered_seconds(as_counter(series, meter.kind), self._clock)
                self._require(covered)  # work was reset with energy
                self._require(self._aligned(covered))
        self._smoothing: Smoothing | None = None
        if spec.extractor == "smooth":
            phases = phases_of(self.windows.starts, self.windows.ends, name, schedule)
            self._smoothing = Smoothing(self.windows, self._complete, phases)
        self._rates, self._watts = self._smoothed(self._rates), self._smoothed(self._watts)

    def _smoothed(self, columns: dict[str, Floats]) -> dict[str, Floats]:
        return {name: self._smoothing.mean(rates) for name, rates in columns.items()} if self._smoothing else columns

    @property
    def dropped(self) -> int:
        """Return how many windows of its time a node lacks: for gaps, resets or missing features."""
        times = self._clock.times
        complete = self.windows.seconds[self._complete].sum()
        return max(round(float(times[-1] - times[0] - complete) / self.window_seconds), 0)

    @property
    def window_seconds(self) -> float:
        """Return the usual length of a window (s)."""
        return float(np.median(self.windows.seconds)) if len(self.windows) else self._clock.interval

    def node(self) -> pa.Table:
        """Return the rows of the node."""
        unknown = np.full(len(self.windows), np.nan)  # a feature that only other nodes have
        return self._node_rows({name: self._rates.get(name, unknown) for name in self._columns} | self._watts)

    def packages(self) -> pa.Table | None:
        """Return power by package, `<source>/<component>_<package>_power` (W); None for a node with one package.

        Rows are those of the node, whose power is the sum over packages.
        """
        label = self._dialect.energy.package_label
        columns = {
            f"{meter.name}_{package}{POWER}": self._power(self._joules(series, meter))
            for meter in self._meters
            for package, series in (meter.by_package(label).items() if label else ())
        }
        return self._node_rows(self._smoothed(columns)) if columns else None

    def _node_rows(self, columns: dict[str, Floats]) -> pa.Table:
        """Return a row for every complete window."""
        workloads = label_windows(self.windows.starts, self.windows.ends, self.name, self._schedule)
        complete = {name: values[self._complete] for name, values in columns.items()}
        return node_rows(self.windows.ends[self._complete], self.name, workloads[self._complete].tolist(), complete)

    def containers(self) -> Iterator[pa.Table]:
        """Yield rows of containers, some containers at a time; at least one table, which may be empty."""
        at_once = max(1, _ROWS // max(len(self.windows), 1))
        for batch in self._containers.batches:
            gains = {feature.name: self._window_gains(feature, batch) for feature in self._containers.features}
            for first in range(0, max(len(batch), 1), at_once):
                some = slice(first, first + at_once)
                yield self._container_rows(batch[some], {name: values[some] for name, values in gains.items()})

    def _window_gains(self, feature: Feature, batch: list[str]) -> Floats:
        """Return what each container of a batch gained in every window."""
        gains = self.windows.sum_steps(self._containers.gains(feature, batch))
        seconds = self.windows.seconds
        return self._smoothing.mean(gains / seconds) * seconds if self._smoothing else gains

    def _container_rows(self, batch: list[str], gains: dict[str, Floats]) -> pa.Table:
        """Return a row per window and container that did any work in it.

        A feature of the node has the node's value in every row, or is shared in proportion to another feature.
        """
        worked = np.zeros((len(batch), len(self.windows)), dtype=bool)
        for values in gains.values():
            worked |= values != 0
        worked &= self._complete
        places = np.flatnonzero(worked)
        container, window = np.divmod(places, max(len(self.windows), 1))
        seconds = self.windows.seconds[window]
        columns = {name: values.take(places) / seconds for name, values in gains.items()}
        for feature in self._features:
            if feature.of_node is None:
                continue
            columns[feature.name] = self._rates[feature.name][window]
            share_by = feature.of_node.share_by
            if share_by in gains:
                whole = self._rates[share_by][window] * seconds
                columns[feature.name] *= np.divide(
                    gains[share_by].take(places), whole, out=np.zeros_like(whole), where=whole > 0
                )
        missing = [name for name in self._columns if name not in columns]
        columns |= dict.fromkeys(missing, np.full(len(places) if missing else 0, np.nan))
        in_order = {name: columns[name] for name in self._columns}
        return container_rows(self.windows.ends, window, self.name, batch, container, in_order)

    def _joules(self, series: list[Series], meter: Meter) -> Floats:
        """Return the energy of a component, or of a package of it, in every step (J)."""
        joules = np.zeros(len(self._clock.steps))
        for counter in series:
            add_gains(joules, as_counter(counter, meter.kind), self._clock, from_birth=False)
        return joules

    def _lag(self, joules: dict[str, Floats], refresh: float) -> MeterLag:
        """Return how much later than work the exporter reads energy.

        The sums over processes of later Keplers lack what processes did before they ended, so there the node's busy
        share is used. It is a mean since the last refresh, so it says nothing of a longer step, and in shorter steps it
        is shown for a while after its time. Features of other exporters, which are scraped at other times, are no help.
        """
        means = [f for f in self._features if f.of_node and f.of_node.kind == "mean"]
        if means and abs(refresh - self._clock.interval) > _WHOLE_STEP * self._clock.interval:
            return UNKNOWN_LAG
        gains = [self._node_gains[feature.name] for feature in means]
        gains = gains or [self._containers.totals[f.name] for f in self._containers.features if not f.third_party]
        work = [running_total(values) for values in gains if values.any()]
        if not work or not joules:
            return UNKNOWN_LAG
        return estimate_lag(self._clock.times, [running_total(values) for values in joules.values()], work, refresh)

    def _aligned(self, by_step: Floats) -> Floats:
        """Return energy, or the time it covers, as of the moment at which work was read."""
        if not self.lag.significant:
            return by_step
        return np.nan_to_num(np.diff(shift_counter(self._clock.times, running_total(by_step), self.lag.seconds)))

    def _power(self, joules: Floats) -> Floats:
        """Return the power in every window (W)."""
        return self.windows.sum_steps(self._aligned(joules)) / self.windows.seconds

    def _rate(self, feature: Feature) -> Floats:
        """Return the rate (1/s) of a feature of the node, or of all containers, in every window."""
        gains = self._gains_of_node(feature) if feature.of_node else self._containers.totals[feature.name]
        return self.windows.sum_steps(gains) / self.windows.seconds

    def _gains_of_node(self, feature: Feature) -> Floats:
        """Return the gains of a feature of the node by step; a complete window needs one of its series at least."""
        gains, covered = np.zeros(len(self._clock.steps)), np.zeros(len(self._clock.steps))
        series = [counter for _, counter in feature.read(feature.containers)]
        for counter in series:
            add_gains(gains, counter, self._clock, from_birth=False)
            covered = np.maximum(covered, covered_seconds(counter, self._clock))
        self._require(covered)
        if feature.of_node and feature.of_node.combine == "mean":
            gains /= len(series)
        self._node_gains[feature.name] = gains
        return gains

    def _require(self, covered: Floats) -> None:
        """Drop the windows that these seconds by step do not cover."""
        self._complete &= self.windows.sum_steps(covered) >= _MIN_COVERAGE * self.windows.seconds


def _timing(
    name: str, meters: list[Meter], features: list[Feature], dialect: Dialect, spec: RunSpec
) -> MeterTiming | WorkTiming:
    if meters:
        return MeterTiming(name, meters, dialect.refresh_seconds)
    return WorkTiming(name, features, catalog().group(spec.feature_groups[0]).main, dialect.refresh_seconds)

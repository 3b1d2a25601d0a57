"""Training frames: rates of every feature and watts of every component, on one time grid per node.

Node frame: a row per window: `time` (its end), `node`, `workload`, features (1/s, summed over containers) and
`<source>/<component>_power` (W). Container frame: a row per window and container with its features. Every feature
group and energy source is a selection of columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.catalog import Dialect, catalog
from kepler_train.collect.health.clock import steps_by_energy
from kepler_train.collect.meters import Meter, meters_of
from kepler_train.collect.nodes import Nodes
from kepler_train.collect.samples import LATE, Series
from kepler_train.collect.schedule import Schedule
from kepler_train.errors import DataError
from kepler_train.extract.counters import Accumulated, Floats, scrape_interval
from kepler_train.extract.sources import Feature, feature_series, power_series
from kepler_train.extract.workloads import label_windows
from kepler_train.spec import RunSpec

# A window counts when the meter covers at least this share of it: what is missing lowers its power by as much.
MIN_COVERAGE = 0.99


@dataclass(frozen=True)
class Frames:
    """The rows of one node."""

    node: pd.DataFrame
    containers: pd.DataFrame
    dropped: int  # windows without complete energy data


@dataclass(frozen=True)
class Grid:
    """Windows of equal length between consecutive edges (Unix s)."""

    edges: Floats
    scrapes: Floats  # when the exporter was scraped at all (Unix s)
    longest: float  # a step longer than this is a gap (s)

    @property
    def seconds(self) -> float:
        """The length of a window."""
        return float(self.edges[1] - self.edges[0])

    @property
    def ends(self) -> pd.DatetimeIndex:
        """The end of every window."""
        return pd.to_datetime(np.rint(self.edges[1:] * 1000).astype(np.int64), unit="ms", utc=True)


def node_frames(samples: Path, spec: RunSpec, dialect_name: str, schedule: Schedule) -> dict[str, Frames]:
    """Frames of every node in the samples; nodes are never mixed."""
    dialect = catalog().dialect(dialect_name)
    meters = meters_of(samples, spec, dialect)
    if not meters:
        sources = ", ".join(spec.energy_sources)
        raise DataError(f"The samples have no energy counters of {sources}: choose a source that was collected.")
    metered = [one.labels for own in meters.values() for meter in own for one in meter.series]
    work = feature_series(samples, spec, dialect, Nodes.of(dialect.node_label, metered))
    frames = {}
    for node in sorted(meters):
        own_work = {feature: series for (name, feature), series in work.items() if name == node}
        frames[node] = _one_node(node, meters[node], own_work, dialect, schedule)
    return frames


def _one_node(node: str, meters: list[Meter], work: dict[str, Feature], dialect: Dialect, schedule: Schedule) -> Frames:
    grid = _grid(node, [series for meter in meters for series in meter.series])
    watts, complete = _watts(power_series(meters), grid)
    complete &= ~_clock_was_set(meters, grid)
    of_containers = {
        name: _container_rates(feature, grid, dialect) for name, feature in work.items() if feature.of_node is None
    }
    of_node: dict[str, Floats] = {}
    for name, feature in work.items():
        if feature.of_node is not None:
            of_node[name], covered = _node_rate(feature, grid)
            complete &= covered
    columns = {name: np.sum(list(rates.values()), axis=0) for name, rates in of_containers.items()} | of_node
    frame = pd.DataFrame({**{name: columns[name] for name in work}, **watts}, index=grid.ends)
    frame.insert(0, "node", node)
    frame.insert(1, "workload", label_windows(grid.edges, node, schedule))
    shares = {name: feature.of_node.share_by for name, feature in work.items() if feature.of_node}
    return Frames(
        node=frame[complete].rename_axis("time").reset_index(),
        containers=_container_frame(node, of_containers, frame, shares, complete),
        dropped=int((~complete).sum()),
    )


def _grid(node: str, meters: list[Series]) -> Grid:
    """Windows of one scrape interval, from the first scrape of the meter to the last."""
    scrapes = np.unique(np.concatenate([series.times for series in meters]))
    if len(scrapes) < 3:
        raise DataError(
            f"Node {node or 'without a name'} has {len(scrapes)} scrapes of its meter in the window: too few."
        )
    interval = scrape_interval(scrapes)
    windows = int((scrapes[-1] - scrapes[0]) / interval + 0.5)
    return Grid(scrapes[0] + interval * np.arange(windows + 1), scrapes, LATE * interval)


def _watts(power: dict[str, list[Series]], grid: Grid) -> tuple[dict[str, Floats], npt.NDArray[np.bool_]]:
    """Power of every component (W), and the windows in which every meter is covered."""
    complete = np.ones(len(grid.edges) - 1, dtype=bool)
    watts: dict[str, Floats] = {}
    for column, many in power.items():
        joules = np.zeros(len(grid.edges) - 1)
        for series in many:
            gained, covered = Accumulated.of(series.times, series.values, grid.longest).over(grid.edges)
            joules += gained
            complete &= covered >= MIN_COVERAGE * grid.seconds
        watts[column] = joules / grid.seconds
    return watts, complete


def _clock_was_set(meters: list[Meter], grid: Grid) -> npt.NDArray[np.bool_]:
    """Windows in which the clock of Prometheus was set: their energy is that of another time than their seconds."""
    found = np.zeros(len(grid.edges) - 1, dtype=bool)
    for step in steps_by_energy([one for meter in meters if meter.counter for one in meter.series], grid.seconds):
        before = grid.scrapes[grid.scrapes < step.time][-1]
        found |= (grid.edges[1:] > before) & (grid.edges[:-1] < step.time)
    return found


def _container_rates(feature: Feature, grid: Grid, dialect: Dialect) -> dict[str, Floats]:
    """Rate (1/s) of one feature in every window, by container; 0 where the container did not run."""
    found: dict[str, Floats] = {}
    for series in feature.series:
        times, values = _from_birth(series, grid) if feature.from_birth else (series.times, series.values)
        gained, _ = Accumulated.of(times, values, _longest_step(series, grid)).over(grid.edges)
        name = _container_name(series, dialect)
        found[name] = found.get(name, 0.0) + gained / grid.seconds
    return found


def _container_name(series: Series, dialect: Dialect) -> str:
    labels = [series.labels.get(label, "") for label in dialect.container_labels]
    return "/".join(labels) if any(labels) else dialect.system_container


def _node_rate(feature: Feature, grid: Grid) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Rate (1/s) of a feature of the node in every window, and the windows in which it is known."""
    rate, covered = np.zeros(len(grid.edges) - 1), np.zeros(len(grid.edges) - 1)
    for series in feature.series:
        counter = Accumulated.of(series.times, series.values, _longest_step(series, grid))
        gained, own = counter.over(grid.edges)
        rate += gained / grid.seconds
        covered = np.maximum(covered, own)
    if feature.of_node and feature.of_node.combine == "mean":
        rate /= len(feature.series)
    return rate, covered >= MIN_COVERAGE * grid.seconds


def _longest_step(series: Series, grid: Grid) -> float:
    """Other exporters have scrape intervals of their own, which may be longer than that of the meter (s)."""
    return max(grid.longest, LATE * scrape_interval(series.times)) if len(series.times) > 2 else grid.longest


def _from_birth(series: Series, grid: Grid) -> tuple[Floats, Floats]:
    """A container's counter starts at 0 with the container: its first value was gained since the scrape before."""
    before = int(np.searchsorted(grid.scrapes, series.times[0])) - 1
    if before < 0 or series.times[0] - grid.scrapes[before] > grid.longest:
        return series.times, series.values
    return np.insert(series.times, 0, grid.scrapes[before]), np.insert(series.values, 0, 0.0)


def _container_frame(
    node: str,
    rates: dict[str, dict[str, Floats]],
    frame: pd.DataFrame,
    shares: dict[str, str | None],
    complete: npt.NDArray[np.bool_],
) -> pd.DataFrame:
    """A row per window and container that did any work in it.

    A feature of the node has the node's value in every row, or is shared in proportion to another feature.
    """
    containers = sorted({name for by_container in rates.values() for name in by_container})
    nothing = np.zeros(len(frame))
    pieces = []
    for container in containers:
        columns = {feature: by_container.get(container, nothing) for feature, by_container in rates.items()}
        worked = complete & np.any(list(columns.values()), axis=0)
        for feature, share_by in shares.items():
            whole = frame[feature].to_numpy()
            columns[feature] = whole if share_by is None else whole * _share(columns[share_by], frame[share_by])
        pieces.append(
            pd.DataFrame(
                {"time": frame.index[worked], "node": node, "container": container}
                | {feature: values[worked] for feature, values in columns.items()}
            )
        )
    empty = pd.DataFrame(columns=["time", "node", "container", *rates, *shares])
    return pd.concat(pieces, ignore_index=True) if pieces else empty


def _share(part: Floats, whole: pd.Series[float]) -> Floats:
    total = whole.to_numpy()
    return np.divide(part, total, out=np.zeros(len(part)), where=total > 0)

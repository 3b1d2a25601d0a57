"""Training frames: rates of every feature and watts of every component, on one time grid per node.

Node frame: a row per window: `time` (its end), `node`, `workload`, features (1/s, summed over containers) and
`<source>/<component>_power` (W). Container frame: a row per window and container with its features. Every feature
group and energy source is a selection of columns.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.collect.samples import LATE, Series, read_series
from kepler_train.collect.schedule import Schedule
from kepler_train.collect.wanted import feature_metrics, prefixed
from kepler_train.errors import DataError
from kepler_train.extract.counters import Accumulated, Floats, integrated, is_counter, scrape_interval
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


def node_frames(samples: Path, spec: RunSpec, dialect: str, schedule: Schedule) -> dict[str, Frames]:
    """Frames of every node in the samples; nodes are never mixed."""
    power = _energy(samples, spec, dialect)
    if not power:
        sources = ", ".join(spec.energy_sources)
        raise DataError(f"The samples have no energy counters of {sources}: choose a source that was collected.")
    work = _features(samples, spec, dialect)
    frames = {}
    for node in sorted({node for node, _ in power}):
        own_power = {column: series for (name, column), series in power.items() if name == node}
        own_work = {feature: series for (name, feature), series in work.items() if name == node}
        frames[node] = _one_node(node, own_power, own_work, dialect, schedule, spec.thirdparty_metrics)
    return frames


def _energy(samples: Path, spec: RunSpec, dialect_name: str) -> dict[tuple[str, str], list[Series]]:
    """Energy counters (J) by node and power column: series of modes and sockets that add up; zones are chosen."""
    dialect = catalog().dialect(dialect_name)
    names = dialect.energy
    found: dict[tuple[str, str], list[Series]] = {}
    for source in spec.energy_sources:
        for component in catalog().source(source).components:
            for series in read_series(samples, prefixed(names.metric_of(component), spec)):
                if names.zone_label and series.labels.get(names.zone_label) != component:
                    continue
                meter = series.labels.get(names.source_label or "", source)
                if catalog().served_source(meter) != catalog().served_source(source):
                    continue
                node = series.labels.get(dialect.node_label, "")
                found.setdefault((node, f"{source}/{component}_power"), []).append(series)
    return found


def _features(samples: Path, spec: RunSpec, dialect_name: str) -> dict[tuple[str, str], list[Series]]:
    """Work counters by node and feature, a series per container; the rate of a gauge is its mean level."""
    dialect = catalog().dialect(dialect_name)
    metrics = {f: m for group in spec.feature_groups for f, m in feature_metrics(spec, group, dialect).items()}
    found: dict[tuple[str, str], list[Series]] = {}
    for feature, metric in sorted(metrics.items()):
        for series in read_series(samples, metric):
            if not is_counter(metric):
                series.values = integrated(series.times, series.values)
            found.setdefault((series.labels.get(dialect.node_label, ""), feature), []).append(series)
    return found


def _one_node(
    node: str,
    power: dict[str, list[Series]],
    work: dict[str, list[Series]],
    dialect: str,
    schedule: Schedule,
    third_party: Collection[str],
) -> Frames:
    grid = _grid(node, [series for many in power.values() for series in many])
    watts, complete = _watts(power, grid)
    container_rates = {
        # What other exporters count began with the machine, and is scraped at other times.
        feature: _container_rates(series, grid, dialect, from_birth=feature not in third_party)
        for feature, series in work.items()
    }
    columns: dict[str, Floats] = {
        feature: np.sum(list(by_container.values()), axis=0) for feature, by_container in container_rates.items()
    }
    frame = pd.DataFrame({**columns, **watts}, index=grid.ends)
    frame.insert(0, "node", node)
    frame.insert(1, "workload", label_windows(grid.edges, node, schedule))
    return Frames(
        node=frame[complete].rename_axis("time").reset_index(),
        containers=_container_frame(node, container_rates, grid, complete),
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


def _watts(power: dict[str, list[Series]], grid: Grid) -> tuple[dict[str, Floats], np.typing.NDArray[np.bool_]]:
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


def _container_rates(many: list[Series], grid: Grid, dialect: str, *, from_birth: bool) -> dict[str, Floats]:
    """Rate (1/s) of one feature in every window, by container; 0 where the container did not run."""
    found: dict[str, Floats] = {}
    labels = catalog().dialect(dialect).container_labels
    for series in many:
        times, values = _from_birth(series, grid) if from_birth else (series.times, series.values)
        gained, _ = Accumulated.of(times, values, grid.longest).over(grid.edges)
        name = "/".join(series.labels.get(label, "") for label in labels)
        found[name] = found.get(name, 0.0) + gained / grid.seconds
    return found


def _from_birth(series: Series, grid: Grid) -> tuple[Floats, Floats]:
    """A container's counter starts at 0 with the container: its first value was gained since the scrape before."""
    before = int(np.searchsorted(grid.scrapes, series.times[0])) - 1
    if before < 0 or series.times[0] - grid.scrapes[before] > grid.longest:
        return series.times, series.values
    return np.insert(series.times, 0, grid.scrapes[before]), np.insert(series.values, 0, 0.0)


def _container_frame(
    node: str, rates: dict[str, dict[str, Floats]], grid: Grid, complete: np.typing.NDArray[np.bool_]
) -> pd.DataFrame:
    """A row per window and container that did any work in it."""
    containers = sorted({name for by_container in rates.values() for name in by_container})
    nothing = np.zeros(len(grid.edges) - 1)
    pieces = []
    for container in containers:
        columns = {feature: by_container.get(container, nothing) for feature, by_container in rates.items()}
        worked = complete & np.any(list(columns.values()), axis=0)
        pieces.append(
            pd.DataFrame(
                {"time": grid.ends[worked], "node": node, "container": container}
                | {feature: values[worked] for feature, values in columns.items()}
            )
        )
    return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=["time", "node", "container"])

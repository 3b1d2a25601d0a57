"""The energy meters of each node among the samples: which series make up a component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kepler_train.catalog import Dialect, catalog
from kepler_train.catalog.model import Kind
from kepler_train.errors import DataError
from kepler_train.samples.duplicates import distinct
from kepler_train.samples.metrics import energy_metric, is_measured_by, vm_label_of
from kepler_train.samples.nodes import own_node
from kepler_train.samples.parquet import Series, read_series
from kepler_train.spec import RunSpec


@dataclass(frozen=True)
class Meter:
    """The series of one component of one energy source on one node, each quantity once; they add up."""

    source: str
    component: str
    metric: str
    counter: bool  # J; else a gauge (W)
    series: list[Series]
    sockets: dict[str, list[Series]]  # by the labels that tell parts of the machine apart

    def by_package(self, label: str) -> dict[str, list[Series]]:
        """Return the series of each package that a label tells apart; nothing where there is only one package."""
        names = sorted({series.labels[label] for series in self.series if label in series.labels})
        packages = {name: [series for series in self.series if series.labels.get(label) == name] for name in names}
        return packages if len(packages) > 1 else {}

    @property
    def kind(self) -> Kind:
        """Return the catalog's word for it."""
        return "counter" if self.counter else "gauge"

    @property
    def name(self) -> str:
        """Return its name in the names of power columns."""
        return f"{self.source}/{self.component}"


def meters_of(samples: Path, spec: RunSpec, dialect: Dialect) -> dict[str, list[Meter]]:
    """Return the meters of every node, in the order of the requested sources.

    A meter that two sources name, as rapl-sysfs and rapl-msr do, is listed under the first.
    """
    series_by_node: dict[str, dict[str, list[Series]]] = {}
    meters: dict[str, list[Meter]] = {}
    taken: set[tuple[str, str, str]] = set()
    for source in spec.energy_sources:
        for component in catalog().source(source).components:
            metric = energy_metric(spec, dialect, component)
            if metric is None:
                continue
            counter = catalog().kind_of(metric) == "counter"
            if metric not in series_by_node:
                label = vm_label_of(spec, dialect) or dialect.node_label
                series_by_node[metric] = _by_node(read_series(samples, metric), label)
            for node, series in series_by_node[metric].items():
                measuring = [single for single in series if is_measured_by(single.labels, source, component, dialect)]
                places = {(node, metric, repr(sorted(single.labels.items()))) for single in measuring}
                if measuring and not places <= taken:
                    taken |= places
                    meters.setdefault(node, []).append(_meter(source, component, metric, counter, measuring, dialect))
    return meters


def no_meters_of(node: str, nodes: Iterable[str]) -> DataError:
    """Return the error for a requested node that is not among the samples."""
    return DataError(f"The samples have no energy counters of the node {node}, only of {', '.join(sorted(nodes))}.")


def _by_node(series: list[Series], label: str) -> dict[str, list[Series]]:
    nodes: dict[str, list[Series]] = {}
    for single in series:
        nodes.setdefault(own_node(single.labels, label), []).append(single)
    return nodes


def _meter(source: str, component: str, metric: str, counter: bool, measuring: list[Series], dialect: Dialect) -> Meter:
    series = distinct(measuring, counter=counter)
    parts = [label for label in dialect.energy.add_over if label != "mode"]  # idle and dynamic are of one place
    sockets: dict[str, list[Series]] = {}
    for single in series:
        place = ", ".join(f"{label}={single.labels[label]}" for label in parts if label in single.labels)
        sockets.setdefault(place, []).append(single)
    return Meter(source, component, metric, counter, series, sockets)

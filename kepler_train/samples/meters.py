"""The energy meters of each node among the samples: which series make up a component."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kepler_train.catalog import Dialect, catalog
from kepler_train.catalog.model import Kind
from kepler_train.errors import DataError
from kepler_train.samples.duplicates import distinct
from kepler_train.samples.nodes import own_node
from kepler_train.samples.parquet import Series, read_series
from kepler_train.samples.wanted import energy_metric, vm_label_of
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
        """The series of each package that a label tells apart; none where there is only one."""
        names = sorted({one.labels[label] for one in self.series if label in one.labels})
        found = {name: [one for one in self.series if one.labels.get(label) == name] for name in names}
        return found if len(found) > 1 else {}

    @property
    def kind(self) -> Kind:
        """As the catalog calls it."""
        return "counter" if self.counter else "gauge"

    @property
    def name(self) -> str:
        """As in the names of power columns."""
        return f"{self.source}/{self.component}"


def meters_of(samples: Path, spec: RunSpec, dialect: Dialect) -> dict[str, list[Meter]]:
    """The meters of every node, in the order of the sources asked for.

    A meter that two sources name, as rapl-sysfs and rapl-msr do, is found under the first.
    """
    read: dict[str, dict[str, list[Series]]] = {}
    found: dict[str, list[Meter]] = {}
    taken: set[tuple[str, str, str]] = set()
    for source in spec.energy_sources:
        for component in catalog().source(source).components:
            metric = energy_metric(spec, dialect, component)
            if metric is None:
                continue
            counter = catalog().kind_of(metric) == "counter"
            if metric not in read:
                label = vm_label_of(spec, dialect) or dialect.node_label
                read[metric] = _by_node(read_series(samples, metric), label)
            for node, many in read[metric].items():
                own = [one for one in many if _measures(one.labels, source, component, dialect)]
                places = {(node, metric, repr(sorted(one.labels.items()))) for one in own}
                if own and not places <= taken:
                    taken |= places
                    found.setdefault(node, []).append(_meter(source, component, metric, counter, own, dialect))
    return found


def no_meters_of(node: str, there: Iterable[str]) -> DataError:
    """The sentence for a node that was asked for and is not among the samples."""
    return DataError(f"The samples have no energy counters of the node {node}, only of {', '.join(sorted(there))}.")


def _by_node(many: list[Series], label: str) -> dict[str, list[Series]]:
    found: dict[str, list[Series]] = {}
    for one in many:
        found.setdefault(own_node(one.labels, label), []).append(one)
    return found


def _measures(labels: Mapping[str, str], source: str, component: str, dialect: Dialect) -> bool:
    """Whether a series of the component's metric is of this source, and of the component's zone.

    A VM that has ended is shown once more, with what it had.
    """
    names = dialect.energy
    if labels.get("state", "running") != "running":
        return False
    if names.zone_label and component in names.zones and labels.get(names.zone_label) != component:
        return False
    meter = labels.get(names.source_label or "", source)
    return catalog().served_source(meter) == catalog().served_source(source)


def _meter(source: str, component: str, metric: str, counter: bool, own: list[Series], dialect: Dialect) -> Meter:
    series = distinct(own, counter=counter)
    parts = [label for label in dialect.energy.add_over if label != "mode"]  # idle and dynamic are of one place
    sockets: dict[str, list[Series]] = {}
    for one in series:
        place = ", ".join(f"{label}={one.labels[label]}" for label in parts if label in one.labels)
        sockets.setdefault(place, []).append(one)
    return Meter(source, component, metric, counter, series, sockets)

"""Which series make up a column: the meters of each node, and the counters of each feature."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kepler_train.catalog import Dialect, catalog
from kepler_train.catalog.model import Kind, NodeFeature
from kepler_train.events import warn
from kepler_train.extract.counters import integrated, integrated_means
from kepler_train.extract.names import Names
from kepler_train.samples.duplicates import distinct
from kepler_train.samples.metrics import feature_metrics
from kepler_train.samples.nodes import Nodes
from kepler_train.samples.parquet import MetricFile, Series
from kepler_train.spec import RunSpec


@dataclass(frozen=True)
class Feature:
    """A feature on one node: the series of each container, or of the node itself (`of_node`)."""

    name: str
    of_node: NodeFeature | None
    third_party: bool
    containers: dict[str, list[tuple[MetricFile, int]]] = field(default_factory=dict)

    @property
    def from_birth(self) -> bool:
        """A series that appears has counted from 0; what is the node's or of other exporters began with the machine."""
        return self.of_node is None and not self.third_party

    def read(self, containers: Collection[str]) -> Iterator[tuple[str, Series]]:
        """The series of some containers as counters, each quantity once; those of a container follow each other."""
        places: dict[MetricFile, dict[int, str]] = {}
        for container in containers:
            for file, number in self.containers.get(container, ()):
                places.setdefault(file, {})[number] = container
        for file, names in places.items():
            found: dict[str, list[Series]] = {}
            for number, series in zip(sorted(names), file.read(sorted(names)), strict=True):
                found.setdefault(names[number], []).append(series)
            kind = self.of_node.kind if self.of_node else catalog().kind_of(file.metric)
            for container, many in found.items():
                if len(many) > 1:
                    # Of a metric that we do not know, the pod may be what it measures.
                    many = distinct(many, counter=kind == "counter", exporter_pod=not self.third_party)
                yield from ((container, as_counter(series, kind)) for series in many)


def features_of(samples: Path, spec: RunSpec, dialect: Dialect, nodes: Nodes) -> dict[str, list[Feature]]:
    """The features of every node that have data, in the order of their names."""
    wanted: dict[str, list[str]] = {}
    for group in spec.feature_groups:
        wanted |= feature_metrics(spec, group, dialect)
    files = {metric: MetricFile(samples, metric) for metrics in wanted.values() for metric in metrics}
    split = {metric: _by_node(file, nodes) for metric, file in files.items()}
    names = Names(samples, dialect, spec)
    found: dict[str, list[Feature]] = {node: [] for node in nodes.names}
    for name, metrics in sorted(wanted.items()):
        for node, own in found.items():
            parts = _parts(name, dialect, [(files[metric], split[metric].get(node, [])) for metric in metrics])
            for column, series in parts.items():
                feature = _feature(name, column, name in spec.thirdparty_metrics, dialect)
                for file, numbers in series:
                    _add(feature, name, file, numbers, names)
                if feature.containers:
                    own.append(feature)
    return found


def _feature(name: str, column: str, third_party: bool, dialect: Dialect) -> Feature:
    return Feature(column, dialect.features.node.get(name) or catalog().exporter_features.get(name), third_party)


Numbered = list[tuple[MetricFile, list[int]]]


def _parts(name: str, dialect: Dialect, series: Numbered) -> dict[str, Numbered]:
    """The series of each column of a feature: one column, or one for every value of the label that keeps them apart."""
    entry = dialect.features.node.get(name)
    if entry is None or entry.combine != "apart" or not entry.label:
        return {name: series}
    found: dict[str, Numbered] = {}
    for file, numbers in series:
        by_value: dict[str, list[int]] = {}
        for number in numbers:
            value = re.sub(r"\W", "_", file.labels[number].get(entry.label, ""))
            by_value.setdefault(f"{name}_{value}" if value else name, []).append(number)
        for column, own in by_value.items():
            found.setdefault(column, []).append((file, own))
    return dict(sorted(found.items()))


def _by_node(file: MetricFile, nodes: Nodes) -> dict[str, list[int]]:
    split = nodes.split(file.labels)
    homeless = len(file.labels) - sum(map(len, split.values()))
    if homeless:
        warn(f"{homeless} series of {file.metric} belong to no node that Kepler reports on: they are left out.")
    return split


def _add(feature: Feature, name: str, file: MetricFile, numbers: list[int], names: Names) -> None:
    """Take the series of a metric; processes of a container count where the container itself is missing."""
    exported = catalog().exporter_features.get(name)
    has_containers = bool(feature.containers)
    for number in numbers:
        labels = file.labels[number]
        if (exported and not exported.takes(labels)) or (has_containers and labels.get("container_id")):
            continue
        container = "" if feature.of_node else names.of(labels)
        feature.containers.setdefault(container, []).append((file, number))


def as_counter(series: Series, kind: Kind) -> Series:
    """A gauge as its integral over time, whose rate is the gauge's mean level."""
    if kind == "counter":
        return series
    integral = integrated if kind == "gauge" else integrated_means
    return Series(series.labels, series.times, integral(series.times, series.values))

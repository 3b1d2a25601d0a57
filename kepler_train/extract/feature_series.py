"""Which series make up each feature: those of the containers of a node, or of the node itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kepler_train.catalog import Dialect, catalog
from kepler_train.catalog.model import Kind, NodeFeature
from kepler_train.events import warn
from kepler_train.extract.container_names import ContainerNames
from kepler_train.extract.counters import as_counter
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
        """Return whether new series have counted from 0; those of nodes and other exporters began with the machine."""
        return self.of_node is None and not self.third_party

    def kind_in(self, file: MetricFile) -> Kind:
        """Return whether the feature's series in a file are counters or gauges."""
        return self.of_node.kind if self.of_node else catalog().kind_of(file.metric)

    def read(self, containers: Collection[str]) -> Iterator[tuple[str, Series]]:
        """Yield the series of some containers as counters, each quantity once, one container after the other."""
        places: dict[MetricFile, dict[int, str]] = {}
        for container in containers:
            for file, number in self.containers.get(container, ()):
                places.setdefault(file, {})[number] = container
        for file, names in places.items():
            by_container: dict[str, list[Series]] = {}
            for number, series in zip(sorted(names), file.read(sorted(names)), strict=True):
                by_container.setdefault(names[number], []).append(series)
            kind = self.kind_in(file)
            for container, copies in by_container.items():
                if len(copies) > 1:
                    # Of a metric that we do not know, the pod may be what it measures.
                    copies = distinct(copies, counter=kind == "counter", exporter_pod=not self.third_party)
                yield from ((container, as_counter(series, kind)) for series in copies)


_SeriesNumbers = list[tuple[MetricFile, list[int]]]


def features_by_node(samples: Path, spec: RunSpec, dialect: Dialect, nodes: Nodes) -> dict[str, list[Feature]]:
    """Return the features of every node that have data, in the order of their names."""
    metrics_of: dict[str, list[str]] = {}
    for group in spec.feature_groups:
        metrics_of |= feature_metrics(spec, group, dialect)
    files = {metric: MetricFile(samples, metric) for metrics in metrics_of.values() for metric in metrics}
    numbers = {metric: _series_by_node(file, nodes) for metric, file in files.items()}
    names = ContainerNames(samples, dialect, spec)
    features: dict[str, list[Feature]] = {node: [] for node in nodes.names}
    for name, metrics in sorted(metrics_of.items()):
        of_node = dialect.features.node.get(name) or catalog().exporter_features.get(name)
        for node, node_features in features.items():
            series = [(files[metric], numbers[metric].get(node, [])) for metric in metrics]
            for column, own_series in _series_by_column(name, dialect, series).items():
                feature = Feature(column, of_node, name in spec.thirdparty_metrics)
                for file, own_numbers in own_series:
                    _add_series(feature, name, file, own_numbers, names)
                if feature.containers:
                    node_features.append(feature)
    return features


def _series_by_column(name: str, dialect: Dialect, series: _SeriesNumbers) -> dict[str, _SeriesNumbers]:
    """Return the series of each column of a feature: one, or one per value of the label that keeps them apart."""
    entry = dialect.features.node.get(name)
    if entry is None or entry.combine != "apart" or not entry.label:
        return {name: series}
    columns: dict[str, _SeriesNumbers] = {}
    for file, numbers in series:
        by_column: dict[str, list[int]] = {}
        for number in numbers:
            value = re.sub(r"\W", "_", file.labels[number].get(entry.label, ""))
            by_column.setdefault(f"{name}_{value}" if value else name, []).append(number)
        for column, column_numbers in by_column.items():
            columns.setdefault(column, []).append((file, column_numbers))
    return dict(sorted(columns.items()))


def _series_by_node(file: MetricFile, nodes: Nodes) -> dict[str, list[int]]:
    split = nodes.split(file.labels)
    homeless = len(file.labels) - sum(map(len, split.values()))
    if homeless:
        warn(f"{homeless} series of {file.metric} belong to no node that Kepler reports on: they are left out.")
    return split


def _add_series(feature: Feature, name: str, file: MetricFile, numbers: list[int], names: ContainerNames) -> None:
    """Take the series of a metric; processes of a container count where the container itself is missing."""
    exported = catalog().exporter_features.get(name)
    has_containers = bool(feature.containers)
    for number in numbers:
        labels = file.labels[number]
        if (exported and not exported.takes(labels)) or (has_containers and labels.get("container_id")):
            continue
        container = "" if feature.of_node else names.container_of(labels)
        feature.containers.setdefault(container, []).append((file, number))

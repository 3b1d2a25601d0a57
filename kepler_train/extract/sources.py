"""Which series make up a column: the meters of each node, and the counters of each feature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kepler_train.catalog import Dialect, catalog
from kepler_train.catalog.model import EnergyNames, NodeFeature
from kepler_train.collect.nodes import Nodes, own_node
from kepler_train.collect.samples import Series, read_series
from kepler_train.collect.wanted import feature_metrics, prefixed
from kepler_train.events import warn
from kepler_train.extract.counters import integrated, integrated_means
from kepler_train.spec import RunSpec


@dataclass(frozen=True)
class Feature:
    """The series of one feature on one node; `of_node` where they are the node's and not its containers'."""

    series: list[Series]
    of_node: NodeFeature | None = None
    from_birth: bool = True  # a series that appears has counted from 0 since the scrape before


def energy_series(samples: Path, spec: RunSpec, dialect: Dialect) -> dict[tuple[str, str], list[Series]]:
    """Energy counters (J) by node and power column: series of modes and sockets that add up; zones are chosen."""
    names = dialect.energy
    found: dict[tuple[str, str], list[Series]] = {}
    for source in spec.energy_sources:
        for component in catalog().source(source).components:
            metric = names.metric_of(component)
            for series in read_series(samples, prefixed(metric, spec)):
                if _measures(names, series, source, component):
                    node = own_node(series.labels, dialect.node_label)
                    found.setdefault((node, f"{source}/{component}_power"), []).append(_as_counter(series, metric))
    return found


def _measures(names: EnergyNames, series: Series, source: str, component: str) -> bool:
    """Whether a series is of this component, as this meter sees it."""
    if names.zone_label and component in names.zones and series.labels.get(names.zone_label) != component:
        return False
    meter = series.labels.get(names.source_label or "", source)
    return catalog().served_source(meter) == catalog().served_source(source)


def feature_series(samples: Path, spec: RunSpec, dialect: Dialect, nodes: Nodes) -> dict[tuple[str, str], Feature]:
    """Counters of work by node and feature."""
    wanted = {
        f: metrics for group in spec.feature_groups for f, metrics in feature_metrics(spec, group, dialect).items()
    }
    found: dict[tuple[str, str], Feature] = {}
    for feature, metrics in sorted(wanted.items()):
        for node, series in _series_by_node(samples, feature, metrics, nodes).items():
            of_node = dialect.features.node.get(feature) or catalog().exporter_features.get(feature)
            # What is the node's, and what other exporters count, began with the machine.
            own = of_node is None and feature not in spec.thirdparty_metrics
            found[node, feature] = Feature(series, of_node, from_birth=own)
    return found


def _series_by_node(samples: Path, feature: str, metrics: list[str], nodes: Nodes) -> dict[str, list[Series]]:
    """The series of one feature by node; processes of a container count where the container itself is missing."""
    found: dict[str, list[Series]] = {}
    for metric in metrics:
        for node, many in _read_by_node(samples, feature, metric, nodes).items():
            before = found.setdefault(node, [])
            before += [one for one in many if not (before and one.labels.get("container_id"))]
    return found


def _read_by_node(samples: Path, feature: str, metric: str, nodes: Nodes) -> dict[str, list[Series]]:
    exported = catalog().exporter_features.get(feature)
    many = [one for one in read_series(samples, metric) if exported is None or exported.takes(one.labels)]
    split = nodes.split([one.labels for one in many])
    homeless = len(many) - sum(len(own) for own in split.values())
    if homeless:
        warn(f"{homeless} series of {metric} belong to no node that Kepler reports on: they are left out.")
    return {node: [_as_counter(many[position], metric) for position in own] for node, own in split.items()}


def _as_counter(series: Series, metric: str) -> Series:
    """A gauge as its integral over time, whose rate is the gauge's mean level."""
    kind = catalog().kind_of(metric)
    if kind == "counter":
        return series
    integral = integrated if kind == "gauge" else integrated_means
    return Series(series.labels, series.times, integral(series.times, series.values))

"""Which series make up a column: the meters of each node, and the counters of each feature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kepler_train.catalog import Dialect, catalog
from kepler_train.catalog.model import NodeFeature
from kepler_train.collect.duplicates import distinct
from kepler_train.collect.meters import Meter
from kepler_train.collect.nodes import Nodes
from kepler_train.collect.samples import Series, read_series
from kepler_train.collect.wanted import feature_metrics
from kepler_train.events import warn
from kepler_train.extract.counters import integrated, integrated_means
from kepler_train.spec import RunSpec


@dataclass(frozen=True)
class Feature:
    """The series of one feature on one node; `of_node` where they are the node's and not its containers'."""

    series: list[Series]
    of_node: NodeFeature | None = None
    from_birth: bool = True  # a series that appears has counted from 0 since the scrape before


def power_series(meters: list[Meter]) -> dict[str, list[Series]]:
    """Energy counters (J) of one node by power column: series of modes and sockets that add up."""
    return {f"{meter.name}_power": [as_counter(one, meter.metric) for one in meter.series] for meter in meters}


def feature_series(samples: Path, spec: RunSpec, dialect: Dialect, nodes: Nodes) -> dict[tuple[str, str], Feature]:
    """Counters of work by node and feature."""
    wanted = {
        f: metrics for group in spec.feature_groups for f, metrics in feature_metrics(spec, group, dialect).items()
    }
    found: dict[tuple[str, str], Feature] = {}
    for feature, metrics in sorted(wanted.items()):
        foreign = feature in spec.thirdparty_metrics
        for node, series in _series_by_node(samples, feature, metrics, nodes, foreign).items():
            of_node = dialect.features.node.get(feature) or catalog().exporter_features.get(feature)
            # What is the node's, and what other exporters count, began with the machine.
            found[node, feature] = Feature(series, of_node, from_birth=of_node is None and not foreign)
    return found


def _series_by_node(
    samples: Path, feature: str, metrics: list[str], nodes: Nodes, foreign: bool
) -> dict[str, list[Series]]:
    """The series of one feature by node; processes of a container count where the container itself is missing."""
    found: dict[str, list[Series]] = {}
    for metric in metrics:
        for node, many in _read_by_node(samples, feature, metric, nodes).items():
            # Of a metric that we do not know, the pod may be what it measures.
            once = distinct(many, counter=catalog().is_counter(metric), exporter_pod=not foreign)
            before = found.setdefault(node, [])
            before += [as_counter(one, metric) for one in once if not (before and one.labels.get("container_id"))]
    return found


def _read_by_node(samples: Path, feature: str, metric: str, nodes: Nodes) -> dict[str, list[Series]]:
    exported = catalog().exporter_features.get(feature)
    many = [one for one in read_series(samples, metric) if exported is None or exported.takes(one.labels)]
    split = nodes.split([one.labels for one in many])
    homeless = len(many) - sum(len(own) for own in split.values())
    if homeless:
        warn(f"{homeless} series of {metric} belong to no node that Kepler reports on: they are left out.")
    return {node: [many[position] for position in own] for node, own in split.items()}


def as_counter(series: Series, metric: str) -> Series:
    """A gauge as its integral over time, whose rate is the gauge's mean level."""
    kind = catalog().kind_of(metric)
    if kind == "counter":
        return series
    integral = integrated if kind == "gauge" else integrated_means
    return Series(series.labels, series.times, integral(series.times, series.values))

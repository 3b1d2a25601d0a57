"""Nodes of a query that a model can estimate: those with the features it needs, with a meter or without."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from kepler_train.catalog import Dialect, catalog
from kepler_train.errors import DataError
from kepler_train.events import warn
from kepler_train.extract.feature_series import features_by_node
from kepler_train.extract.node_extraction import NodeExtraction
from kepler_train.samples.meters import Meter, meters_of
from kepler_train.samples.metrics import RequiredMetrics, every_group, feature_metrics, required_metrics
from kepler_train.samples.parquet import MetricFile, metrics_in
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

_FEWEST_SCRAPES = 3  # with fewer a meter gives no power
_MOST_NAMED = 3  # metrics in a sentence


def estimable_nodes(
    samples: Path, spec: RunSpec, needs: Collection[str], schedule: Schedule
) -> Iterator[tuple[str, NodeExtraction | DataError]]:
    """Yield the nodes of the spec, or all in the query: each with its extraction, or with the reason why it has none.

    `needs` are the features of the model. A node with a meter is extracted as for training, so that measured power
    stands beside estimated power; a node without has only the features that the model needs.
    """
    dialect_name = _find_dialect(samples, spec)
    dialect = catalog().dialect(dialect_name)
    # A model that needs nothing of Kepler's serves machines without it too.
    others = not required_metrics(spec, dialect_name).of_kepler
    every_metric = _metrics_of_any_group(spec)[dialect_name]
    nodes = every_metric.every_node(lambda metric: MetricFile(samples, metric).labels, others=others)
    features = features_by_node(samples, spec, dialect, nodes)
    meters = _working_meters(meters_of(samples, spec, dialect))
    known_nodes = sorted(node for node, node_features in features.items() if node_features)
    if not known_nodes:
        raise _lacking("The query", needs, spec, dialect)
    for node in sorted(spec.nodes or known_nodes):
        used = [feature for feature in features.get(node, []) if node in meters or feature.name in needs]
        columns = [feature.name for feature in used]
        missing = set(needs) - set(columns)
        if node not in known_nodes:
            yield node, DataError(f"The query has no features of the node {node}, only of {', '.join(known_nodes)}.")
        elif missing:
            yield node, _lacking(f"Node {node or 'without a name'}", missing, spec, dialect)
        else:
            try:
                extraction = NodeExtraction(node, meters.get(node, []), used, columns, dialect, schedule, spec)
            except DataError as error:
                yield node, error
            else:
                yield node, extraction


def _find_dialect(samples: Path, spec: RunSpec) -> str:
    """Return the dialect that can serve the spec. Prefer one with data of its features, then one with any data."""
    collected = set(metrics_in(samples))
    by_features = {name: set(required_metrics(spec, name).of_kepler) for name in catalog().dialects}
    by_any_metric = {
        name: {*metrics.energy, *metrics.of_kepler} for name, metrics in _metrics_of_any_group(spec).items()
    }
    for metrics_of in (by_features, by_any_metric):
        for name, metrics in metrics_of.items():
            if collected & metrics:
                return name
    return max(by_features, key=lambda name: len(by_features[name]))


def _metrics_of_any_group(spec: RunSpec) -> dict[str, RequiredMetrics]:
    """Return what all feature groups together need, by dialect."""
    whole = spec.model_copy(update={"feature_groups": every_group(spec.thirdparty_metrics)})
    return {name: required_metrics(whole, name) for name in catalog().dialects}


def _working_meters(meters: dict[str, list[Meter]]) -> dict[str, list[Meter]]:
    """Return the meters of the nodes that have a working one."""
    working = {}
    for node, node_meters in meters.items():
        if any(_works(meter) for meter in node_meters):
            working[node] = node_meters
        else:
            warn(f"The meter of node {node or 'without a name'} shows nothing: it is taken to have none.")
    return working


def _works(meter: Meter) -> bool:
    """Return whether a counter rises, or a gauge is not 0."""
    for series in meter.series:
        values = series.values[np.isfinite(series.values)]
        if len(values) >= _FEWEST_SCRAPES and values.max() > (values.min() if meter.counter else 0):
            return True
    return False


def _lacking(where: str, missing: Collection[str], spec: RunSpec, dialect: Dialect) -> DataError:
    """Return the error for missing features: which metrics would hold them, and what to do."""
    group = spec.feature_groups[0]
    known = feature_metrics(spec, group, dialect)
    metrics = [" or ".join(known[name]) for name in sorted(missing) if known.get(name)]
    names = metrics or sorted(missing)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    lack = f"{where} has no {', '.join(names[:_MOST_NAMED])}{more}, which the model needs"
    if metrics:
        return DataError(f"{lack}: collect feature group {group}, or take a model of another one.")
    return DataError(f"{lack} and Kepler {dialect.kepler_versions} does not export: take a model of another group.")

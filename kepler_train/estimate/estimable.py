"""What a model can be asked about: every node of a query that has the features it needs, with a meter or without."""

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

_FEWEST_SCRAPES = 3  # with fewer a meter tells no power
_NAMED = 3  # metrics in a sentence


def estimable_nodes(
    samples: Path, spec: RunSpec, needs: Collection[str], schedule: Schedule
) -> Iterator[tuple[str, NodeExtraction | DataError]]:
    """The nodes of the spec, or all that are there: each with its rows, or with why it has none.

    `needs` are the features of the model. A node with a meter is extracted as for training, so that what was measured
    stands beside what is estimated; a node without has the features that the model needs.
    """
    name = _dialect(samples, spec)
    dialect = catalog().dialect(name)
    # A model that needs nothing of Kepler's serves machines without it too.
    others = not required_metrics(spec, name).of_kepler
    nodes = _everything(spec)[name].every_node(lambda metric: MetricFile(samples, metric).labels, others=others)
    features = features_by_node(samples, spec, dialect, nodes)
    meters = _working(meters_of(samples, spec, dialect))
    there = sorted(node for node, own in features.items() if own)
    if not there:
        raise _lacking("The query", needs, spec, dialect)
    for node in sorted(spec.nodes or there):
        own = [one for one in features.get(node, []) if node in meters or one.name in needs]
        missing = set(needs) - {one.name for one in own}
        if node not in there:
            yield node, DataError(f"The query has no features of the node {node}, only of {', '.join(there)}.")
        elif missing:
            yield node, _lacking(f"Node {node or 'without a name'}", missing, spec, dialect)
        else:
            columns = [one.name for one in own]
            try:
                extraction = NodeExtraction(node, meters.get(node, []), own, columns, dialect, schedule, spec)
            except DataError as error:
                yield node, error
            else:
                yield node, extraction


def _dialect(samples: Path, spec: RunSpec) -> str:
    """The dialect whose features of the spec are there; else that of what else is there, else one that has any."""
    there = set(metrics_in(samples))
    by_features = {name: set(required_metrics(spec, name).of_kepler) for name in catalog().dialects}
    by_anything = {name: {*want.energy, *want.of_kepler} for name, want in _everything(spec).items()}
    for metrics in (by_features, by_anything):
        for name, own in metrics.items():
            if there & own:
                return name
    return max(by_features, key=lambda name: len(by_features[name]))


def _everything(spec: RunSpec) -> dict[str, RequiredMetrics]:
    """What all feature groups need, by dialect."""
    asked = spec.model_copy(update={"feature_groups": every_group(spec.thirdparty_metrics)})
    return {name: required_metrics(asked, name) for name in catalog().dialects}


def _working(meters: dict[str, list[Meter]]) -> dict[str, list[Meter]]:
    """The meters of the nodes that have one which tells anything."""
    found = {}
    for node, own in meters.items():
        if any(_tells(meter) for meter in own):
            found[node] = own
        else:
            warn(f"The meter of node {node or 'without a name'} shows nothing: it is taken to have none.")
    return found


def _tells(meter: Meter) -> bool:
    """Whether a counter rises, or a gauge is not 0."""
    for one in meter.series:
        values = one.values[np.isfinite(one.values)]
        if len(values) >= _FEWEST_SCRAPES and values.max() > (values.min() if meter.counter else 0):
            return True
    return False


def _lacking(where: str, missing: Collection[str], spec: RunSpec, dialect: Dialect) -> DataError:
    """The sentence for features that are not there: what would hold them, and what to do."""
    group = spec.feature_groups[0]
    known = feature_metrics(spec, group, dialect)
    metrics = [" or ".join(known[name]) for name in sorted(missing) if known.get(name)]
    names = metrics or sorted(missing)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = f"{where} has no {', '.join(names[:_NAMED])}{more}, which the model needs"
    if metrics:
        return DataError(f"{what}: collect feature group {group}, or take a model of another one.")
    return DataError(f"{what} and Kepler {dialect.kepler_versions} does not export: take a model of another group.")

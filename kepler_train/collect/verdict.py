"""Can these samples serve? Per node: which feature groups are complete, and what is missing of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.collect.samples import LATE, Series, metrics_in, read_series
from kepler_train.collect.wanted import Wanted, feature_metrics, wanted
from kepler_train.errors import DataError
from kepler_train.spec import RunSpec


def find_collected_dialect(spec: RunSpec, samples: Path) -> str:
    """The dialect whose energy counters are among the samples."""
    there = set(metrics_in(samples))
    for name in catalog().dialects:
        if there & set(wanted(spec, name).energy):
            return name
    raise DataError(
        f"{samples} has no energy counters of {', '.join(spec.energy_sources)}: choose a source that was collected."
    )


def verdict(spec: RunSpec, samples: Path) -> dict[str, Any]:
    """What was collected, by metric and node, and which feature groups are valid for every node."""
    dialect = find_collected_dialect(spec, samples)
    want = wanted(spec, dialect)
    metrics = {metric: _by_node(read_series(samples, metric), want) for metric in want.metrics}
    nodes = sorted({node for metric in want.energy for node in metrics[metric]})
    groups = {
        group: {node: _missing(spec, group, dialect, node, metrics) for node in nodes} for group in spec.feature_groups
    }
    return {
        "dialect": dialect,
        "nodes": nodes,
        "metrics": metrics,
        "groups": {
            group: {"valid": not any(by_node.values()), "missing": {n: m for n, m in by_node.items() if m}}
            for group, by_node in groups.items()
        },
    }


def _by_node(series: list[Series], want: Wanted) -> dict[str, dict[str, Any]]:
    """Counts of one metric by node: series, samples, scrape interval (s), gaps, resets, whether it moved."""
    found: dict[str, list[Series]] = {}
    for one in series:
        found.setdefault(one.labels.get(want.node_label, ""), []).append(one)
    return {node: _counts(many) for node, many in found.items()}


def _counts(many: list[Series]) -> dict[str, Any]:
    steps = np.concatenate([np.diff(one.times) for one in many])
    interval = float(np.median(steps)) if len(steps) else None
    return {
        "series": len(many),
        "samples": sum(len(one.times) for one in many),
        "scrape_interval": interval,
        "gaps": int((steps > LATE * interval).sum()) if interval else 0,
        "resets": sum(int((np.diff(one.values) < 0).sum()) for one in many),
        "moved": any(bool((np.diff(one.values) != 0).any()) for one in many),
    }


def _missing(
    spec: RunSpec, group: str, dialect_name: str, node: str, metrics: dict[str, dict[str, dict[str, Any]]]
) -> list[str]:
    """The features of a group without data on a node, by the metric that would hold them."""
    dialect = catalog().dialect(dialect_name)
    named = feature_metrics(spec, group, dialect)
    features = catalog().features_of(group, spec.thirdparty_metrics)
    return [
        " or ".join(named[feature]) or feature
        for feature in features
        if not any(node in metrics.get(metric, {}) for metric in named[feature])
    ]


def check_verdict(spec: RunSpec, found: dict[str, Any], *, every_group: bool = True) -> None:
    """Refuse samples that lack a group that was asked for, or, of many that were looked at, all of them."""
    window = f" between {spec.window[0]:%Y-%m-%d %H:%M} and {spec.window[1]:%Y-%m-%d %H:%M} UTC" if spec.start else ""
    one_will_do = not every_group and any(state["valid"] for state in found["groups"].values())
    for group, state in found["groups"].items():
        if not state["valid"] and not one_will_do:
            node, missing = next(iter(state["missing"].items()))
            versions = catalog().dialect(found["dialect"]).kepler_versions
            raise DataError(
                f"No data for feature group {group} on node {node or 'without a name'}{window}:"
                f" {', '.join(missing)} missing. Kepler {versions} may not export it there;"
                " choose another group or check the exporter."
            )
    still = [
        metric
        for metric, by_node in found["metrics"].items()
        if "_joules_" in metric and by_node and not any(counts["moved"] for counts in by_node.values())
    ]
    energy = [metric for metric in found["metrics"] if "_joules_" in metric and found["metrics"][metric]]
    if energy and len(still) == len(energy):
        raise DataError(f"The energy counters never move{window}: the meter of this machine is not working.")

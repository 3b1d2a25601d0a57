"""Can these samples serve? Per node: what was collected, what is wrong with it, which feature groups are complete."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.errors import DataError
from kepler_train.samples.meters import Meter, meters_of, no_meters_of
from kepler_train.samples.metrics import RequiredMetrics, feature_metrics, required_metrics
from kepler_train.samples.parquet import MetricFile, metrics_in
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.findings import LOST, REMARK, Finding, by_importance, findings_of
from kepler_train.validate.groups import group_state
from kepler_train.validate.metric_health import MetricHealth, MetricTally
from kepler_train.validate.node_health import NodeHealth, node_health
from kepler_train.validate.outcome import GroupVerdict, Verdict
from kepler_train.validate.timing import Window, scrape_times

_ASCRIBED = "power of virtual machines is what the Kepler of their host ascribes to them by CPU time, it is not metered"


def find_collected_dialect(spec: RunSpec, samples: Path) -> str:
    """Return the dialect whose energy counters are among the samples."""
    collected = set(metrics_in(samples))
    for name in catalog().dialects if spec.dialect == "auto" else [spec.dialect]:
        if collected & set(required_metrics(spec, name).energy):
            return name
    raise _no_energy(spec, samples)


def _no_energy(spec: RunSpec, samples: Path) -> DataError:
    sources = ", ".join(spec.energy_sources)
    of = f"{sources} for virtual machines" if spec.vm_train else sources
    return DataError(f"{samples} has no energy counters of {of}: choose a source that was collected.")


def verdict(spec: RunSpec, samples: Path, schedule: Schedule | None = None) -> Verdict:
    """Return what was collected, by metric and node, what deserves a look, and which feature groups are valid."""
    with np.errstate(over="ignore", invalid="ignore"):  # counters of absurd size may overflow
        return _verdict(spec, samples, schedule or Schedule())


def _finite(value: Any) -> Any:
    """Return a value with None for every number in it that is not finite, as JSON has none."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _finite(getattr(value, field.name)) for field in fields(value)})
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_finite, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _verdict(spec: RunSpec, samples: Path, schedule: Schedule) -> Verdict:
    dialect = find_collected_dialect(spec, samples)
    want = required_metrics(spec, dialect)
    meters = _of_the_asked_nodes(meters_of(samples, spec, catalog().dialect(dialect)), spec, samples)
    window = (spec.start.timestamp(), spec.end.timestamp()) if spec.start and spec.end else None
    windows = {node: window or _spanned(node_meters) for node, node_meters in meters.items()}
    collected = _Collected(spec, want, samples, windows)
    healths: dict[str, NodeHealth] = {}
    findings = collected.remarks + [
        Finding(LOST, node, "no energy counters: nothing is learnt of it") for node in spec.nodes if node not in meters
    ]
    for node, node_meters in meters.items():
        metrics = {metric: by_node[node] for metric, by_node in collected.metrics.items() if node in by_node}
        # The series of a node without a name cannot be told from those of no node.
        own = [metrics[meter.metric] for meter in node_meters if meter.metric in metrics]
        steps = [step for health in own for step in health.clock_steps]
        healths[node] = node_health(node, node_meters, window, steps, schedule)
        findings += findings_of(node, healths[node], metrics, 2 * spec.folds)
        findings += _missing_sources(node, node_meters, spec)
    return Verdict(
        dialect=dialect,
        nodes=list(healths),
        health=_finite(healths),
        groups={group: _group(spec, group, dialect, healths, collected.features) for group in spec.feature_groups},
        warnings=by_importance(findings),
        metrics=_finite(collected.metrics),
    )


def _of_the_asked_nodes(meters: dict[str, list[Meter]], spec: RunSpec, samples: Path) -> dict[str, list[Meter]]:
    if not meters:
        raise _no_energy(spec, samples)
    requested = [node for node in sorted(spec.nodes or meters) if node in meters]
    if not requested:
        raise no_meters_of(spec.nodes[0], meters)
    return {node: meters[node] for node in requested}


def _missing_sources(node: str, meters: list[Meter], spec: RunSpec) -> list[Finding]:
    """Return a finding on requested sources without a meter on a node; a request for all sources has none."""
    requested = {} if set(spec.energy_sources) == set(catalog().energy_sources) else dict.fromkeys(spec.energy_sources)
    metered = {catalog().served_source(meter.source) for meter in meters}
    missing = [source for source in requested if catalog().served_source(source) not in metered]
    return [Finding(LOST, node, f"no energy counters of {', '.join(missing)}: nothing is learnt of them")] * bool(
        missing
    )


def _spanned(meters: list[Meter]) -> Window:
    times = scrape_times([series for meter in meters for series in meter.series])
    return float(times[0]), float(times[-1])


class _Collected:
    """Every metric that was asked for, by node, and the features with data, each with whether it ever changes."""

    def __init__(self, spec: RunSpec, want: RequiredMetrics, samples: Path, windows: Mapping[str, Window]) -> None:
        self.metrics: dict[str, dict[str, MetricHealth]] = {}
        self.features: dict[str, dict[str, bool]] = {node: {} for node in windows}
        self.remarks: list[Finding] = []
        self._spec, self._windows = spec, windows
        if want.vm_label:
            self.remarks.append(Finding(REMARK, "", _ASCRIBED))
        files = {metric: MetricFile(samples, metric) for metric in (*want.energy, *want.features)}
        self._nodes = want.nodes(labels for metric in want.energy for labels in files[metric].labels)
        features = _features_by_metric(spec, want.dialect)
        for metric, file in files.items():
            self._look_at(file, features.get(metric, []))

    def _look_at(self, file: MetricFile, features: list[str]) -> None:
        """Look at every series of a metric once, some at a time: there may be more than memory has room for."""
        split = self._nodes.split(file.labels)
        homeless = len(file.labels) - sum(map(len, split.values()))
        if homeless:
            self.remarks.append(
                Finding(REMARK, "", f"{homeless} series of {file.metric} belong to no node that Kepler reports on")
            )
        kind = catalog().kind_of(_own_name(file.metric, self._spec))
        nodes = {position: node for node, positions in split.items() if node in self._windows for position in positions}
        # Of a metric that we do not know, the pod may be what it measures.
        exporter_pod = file.metric not in self._spec.thirdparty_metrics
        tallies = {node: MetricTally(counter=kind == "counter", exporter_pod=exporter_pod) for node in nodes.values()}
        exported = {name: entry for name in features if (entry := catalog().exporter_features.get(name))}
        for position, series in enumerate(file.in_parts()):
            if position not in nodes:
                continue
            tallies[nodes[position]].add(series)
            for feature, entry in exported.items():
                if entry.takes(series.labels):
                    self._note(nodes[position], feature, len(set(series.values)) > 1)
        for node, tally in tallies.items():
            self.metrics.setdefault(file.metric, {})[node] = tally.health(self._windows[node])
            for feature in features:
                if feature not in exported:
                    self._note(node, feature, tally.moved)

    def _note(self, node: str, feature: str, moved: bool) -> None:
        self.features[node][feature] = moved or self.features[node].get(feature, False)


def _own_name(metric: str, spec: RunSpec) -> str:
    """Return the name that the catalog knows a metric by, whatever prefix this installation gives it."""
    return "kepler_" + metric.removeprefix(spec.metric_prefix) if metric.startswith(spec.metric_prefix) else metric


def _features_by_metric(spec: RunSpec, dialect: str) -> dict[str, list[str]]:
    features: dict[str, dict[str, None]] = {}
    for group in spec.feature_groups:
        for feature, metrics in feature_metrics(spec, group, catalog().dialect(dialect)).items():
            for metric in metrics:
                features.setdefault(metric, {})[feature] = None
    return {metric: list(names) for metric, names in features.items()}


def _group(
    spec: RunSpec, group: str, dialect: str, healths: Mapping[str, NodeHealth], features: Mapping[str, dict[str, bool]]
) -> GroupVerdict:
    """Return whether a group is valid on every node that can serve at all, and what the others lack."""
    serving = [node for node, health in healths.items() if not health.unusable] or list(healths)
    states = {node: group_state(spec, group, dialect, features[node]) for node in serving}
    versions = catalog().dialect(dialect).kepler_versions
    lacking = {node: state for node, state in states.items() if not state.valid}
    return GroupVerdict(
        valid=not lacking,
        missing={node: [*state.unknown, *state.missing] for node, state in lacking.items()},
        reasons={node: state.reason(versions) for node, state in lacking.items()},
        left_out=_all_left_out([state.left_out for state in states.values()]),
    )


def _all_left_out(by_node: list[dict[str, list[str]]]) -> dict[str, list[str]]:
    """Return the optional features that a node lacks: all do without them, so that nodes can share a model."""
    lacking: dict[str, set[str]] = {}
    for left_out in by_node:
        for name, features in left_out.items():
            lacking.setdefault(name, set()).update(features)
    return {name: sorted(features) for name, features in sorted(lacking.items())}


def _nearest(groups: Mapping[str, GroupVerdict]) -> str:
    """Return the group that lacks least, and what it lacks."""
    lacking = {group: sum(map(len, state.missing.values())) for group, state in groups.items()}
    group = min(lacking, key=lambda name: lacking[name])
    node, reason = next(iter(groups[group].reasons.items()))
    return f"for {group} on node {node or 'without a name'}, {reason}"


def check_verdict(
    spec: RunSpec,
    found: Verdict,
    *,
    every_group: bool = True,
    every_node: bool = True,
    to_train: bool = False,
) -> None:
    """Refuse samples from which nothing can be learnt, by the one sentence that matters.

    Of the groups that were asked for every one must be valid; of groups that were only looked at, one. So it is with
    nodes, where `every_node` that was asked for must serve. `to_train` also refuses windows that are too short to hold
    out parts of their rows.
    """
    missing = [node for node in spec.nodes if node not in found.nodes]
    if missing and every_node:
        raise no_meters_of(missing[0], found.nodes)
    unusable = {node: sentence for node in found.nodes if (sentence := found.unusable(node))}
    if unusable and (len(unusable) == len(found.nodes) or (spec.nodes and every_node)):
        raise DataError(next(iter(unusable.values())))
    window = f" between {spec.window[0]:%Y-%m-%d %H:%M} and {spec.window[1]:%Y-%m-%d %H:%M} UTC" if spec.start else ""
    if not every_group and not any(state.valid for state in found.groups.values()):
        raise DataError(f"No feature group has all its features{window}: {_nearest(found.groups)}.")
    for group, state in found.groups.items():
        if not state.valid and every_group:
            node, reason = next(iter(state.reasons.items()))
            raise DataError(
                f"No data for feature group {group} on node {node or 'without a name'}{window}:"
                f" {reason}; choose another group or check the exporter."
            )
    rows = sum(health.complete for node, health in found.health.items() if node not in unusable)
    if to_train and rows < 2 * spec.folds:
        raise DataError(
            f"{rows} whole scrape intervals{window} are too few to train on, {2 * spec.folds} are needed:"
            " choose a longer window."
        )

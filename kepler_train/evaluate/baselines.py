"""Trivial models: a trained one is worth its trouble by as much as it beats these.

`mean` predicts the mean power of the training rows. `cpu_time` predicts idle + slope · CPU time, fitted by least
squares with both ≥ 0 (DynPower: no idle); without any CPU time the main feature of the group stands in its place.
`previous`, where there is one, is the version that is published now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kepler_train.evaluate.evaluation import TrainingSummary
    from kepler_train.models.metadata import ModelMetadata

MEAN, CPU_TIME, PREVIOUS = "mean", "cpu_time", "previous"
BASELINES = (MEAN, CPU_TIME, PREVIOUS)
# Features that count CPU time, the nearest to what all processes used first.
CPU_TIME_FEATURES = (
    "bpf_cpu_time_ms",
    "cpu_seconds",
    "cgroupfs_cpu_usage_us",
    "kubelet_cpu_usage",
    "node_cpu_user_seconds",
    "cpu_usage_ratio",
)


def title(name: str, training: TrainingSummary | ModelMetadata, components: Iterable[str]) -> str:
    """Return what tables call a trivial model of some components, beside a model of this training."""
    if name == MEAN:
        return "the mean power"
    if name == CPU_TIME:
        idle = "idle + " if training.output_type == "AbsPower" else ""
        return f"{idle}linear in {_stands_for_load(training.trivial_features, list(components))}"
    if training.previous is None:
        raise ValueError(f"{name} is no trivial model of this training")
    seen = ", which saw some of these rows" if training.previous.overlaps else ""
    return f"the version published before: {training.previous.model}{seen}"


def _stands_for_load(features: Mapping[str, str], components: list[str]) -> str:
    """Return the feature that stands for the load of the first component, and of those that have another one."""
    names = {
        component: "CPU time" if features[component] in CPU_TIME_FEATURES else features[component]
        for component in components
    }
    first = names[components[0]]
    others = ", ".join(f"{component}: {name}" for component, name in names.items() if name != first)
    return f"{first} ({others})" if others else first

"""What a trivial model would say: a trained one is worth its trouble by as much as it beats these.

`mean` says the mean power of the training rows. `cpu_time` says idle + slope · CPU time, fitted by least squares with
both ≥ 0 (DynPower: no idle); rows without any CPU time have the main feature of their group in its place. `previous`,
where there is one, is the version that is published now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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


def title(name: str, about: Mapping[str, Any], components: Iterable[str]) -> str:
    """What tables call a trivial model of some components, by what the metadata of a model beside it say."""
    if name == MEAN:
        return "the mean power"
    if name == CPU_TIME:
        idle = "idle + " if about["output_type"] == "AbsPower" else ""
        return f"{idle}linear in {_stands_for_load(about['trivial_features'], list(components))}"
    previous = about["previous"]
    seen = ", which saw some of these rows" if previous["overlaps"] else ""
    return f"the version published before: {previous['model']}{seen}"


def _stands_for_load(features: Mapping[str, str], components: list[str]) -> str:
    """The feature of the first component, and of those that have another one."""
    names = {
        component: "CPU time" if features[component] in CPU_TIME_FEATURES else features[component]
        for component in components
    }
    first = names[components[0]]
    others = ", ".join(f"{component}: {name}" for component, name in names.items() if name != first)
    return f"{first} ({others})" if others else first

"""What a trivial model would say: a trained one is worth its trouble by as much as it beats these.

`mean` says the mean power of the training rows. `cpu_time` says idle + slope · CPU time, fitted by least squares with
both ≥ 0 (DynPower: no idle); rows without any CPU time have the main feature of their group in its place. `previous`,
where there is one, is the version that is published now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.models.component import Watts
from kepler_train.train.training_set import TrainingSet

MEAN, CPU_TIME, PREVIOUS = "mean", "cpu_time", "previous"
BASELINES = (MEAN, CPU_TIME, PREVIOUS)
# Features that count CPU time, the nearest to what all processes used first.
_CPU_TIME = (
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
        component: "CPU time" if features[component] in _CPU_TIME else features[component] for component in components
    }
    first = names[components[0]]
    others = ", ".join(f"{component}: {name}" for component, name in names.items() if name != first)
    return f"{first} ({others})" if others else first


def cpu_time_feature(frame: pd.DataFrame, data: TrainingSet) -> str:
    """The feature that counts CPU time, in whichever unit the frame has it; without any, the main feature."""
    there = (name for name in _CPU_TIME if name in frame.columns and not frame[name].isna().any())
    return next(there, data.features[data.main])


def cpu_time(frame: pd.DataFrame, data: TrainingSet) -> Watts:
    """What `cpu_time_feature` is in every row."""
    name = cpu_time_feature(frame, data)
    return data.X[:, data.main] if name == data.features[data.main] else frame[name].to_numpy(dtype=np.float64)

"""What a trivial model would say: a trained one is worth its trouble by as much as it beats these.

`mean` says the mean power of the training rows. `cpu_time` says idle + slope · CPU time, fitted by least squares with
both ≥ 0 (DynPower: no idle). `previous`, where there is one, is the version that is published now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.models.component import Watts
from kepler_train.train.training_set import TrainingSet

MEAN, CPU_TIME, PREVIOUS = "mean", "cpu_time", "previous"
BASELINES = {
    MEAN: "the mean power",
    CPU_TIME: "idle + linear in CPU time",
    PREVIOUS: "the version published before",
}
# Features that count CPU time, the nearest to what all processes used first.
_CPU_TIME = (
    "bpf_cpu_time_ms",
    "cpu_seconds",
    "cgroupfs_cpu_usage_us",
    "kubelet_cpu_usage",
    "node_cpu_user_seconds",
    "cpu_usage_ratio",
)


def title(name: str, previous: Mapping[str, Any]) -> str:
    """What tables call a trivial model; `previous` is what a model's metadata say of the version before it."""
    if name != PREVIOUS:
        return BASELINES[name]
    seen = ", which saw some of these rows" if previous.get("overlaps") else ""
    return f"{BASELINES[name]}: {previous.get('model', '')}{seen}"


def cpu_time(frame: pd.DataFrame, data: TrainingSet) -> Watts:
    """The CPU time of every row, in whichever unit the frame has it; without any, the main feature."""
    for name in _CPU_TIME:
        if name in frame.columns and not frame[name].isna().any():
            return frame[name].to_numpy(dtype=np.float64)
    return data.X[:, data.main]

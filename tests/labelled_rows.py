"""Rows of a node under labelled loads, as extraction leaves them: the law of their power is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.machine.choice import RunNodeType
from kepler_train.machine.node_attributes import NodeAttributes
from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec
from kepler_train.train import one_model
from kepler_train.train.training_rows import training_rows

SOURCE = "rapl-sysfs"


def labelled_rows(
    count: int = 240,
    workloads: tuple[str, ...] = ("idle", "cpu", "vm", "cache"),
    start: str = "2026-11-14",
    node: str = "a",
    seed: int = 0,
) -> pd.DataFrame:
    """Windows of 15 s under `workloads` in turn: package = 20 + 0.03·cpu + 0.002·cache W, uncore 0 W."""
    chance = np.random.default_rng(seed)
    names = np.array([workloads[row * len(workloads) // count] for row in range(count)])
    busy = np.where(names == "idle", 0.01, 1.0)
    cpu, cache = busy * chance.uniform(0, 4000, count), busy * chance.uniform(0, 9000, count)
    return pd.DataFrame(
        {
            "time": pd.date_range(start, periods=count, freq="15s", tz="UTC"),
            "node": node,
            "workload": names.astype(object),
            "bpf_cpu_time_ms": cpu,
            "bpf_page_cache_hit": cache,
            f"{SOURCE}/package_power": 20 + 0.03 * cpu + 0.002 * cache,
            f"{SOURCE}/uncore_power": 0.0,
        }
    )


def node_type(number: int) -> RunNodeType:
    """The node type of a machine of which nothing is known."""
    return RunNodeType(number=number, attrs=NodeAttributes(), members=[])


def train_rows(frame: pd.DataFrame, run: RunSpec, key: ModelKey, out: Path, kept: Path | None = None) -> None:
    """Train one model on rows of a node that has no containers."""
    run = run.model_copy(update={"node_type": run.node_type or 0})
    lags = one_model.windows_before(one_model.find_trainer(key.trainer), key)
    one_model.train_one(training_rows(frame, None, run, key.family, lags), out / "none", run, key, out, kept)

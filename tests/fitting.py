"""Rows for trainers: from a matrix, or of a node whose law is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.train.training_set import TrainingSet

FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit"]


def training_rows(
    X: np.ndarray,
    y: np.ndarray,
    *,
    features: list[str] | None = None,
    workloads: list[str] | None = None,
    component: str = "package",
    main: int = 0,
    intercept: bool = True,
    seed: int = 0,
) -> TrainingSet:
    """Rows of one node, 3 s apart."""
    count, width = X.shape
    return TrainingSet(
        features or [f"feature_{number}" for number in range(width)],
        X,
        y,
        np.array(workloads or ["cpu"] * count, dtype=object),
        1.7e9 + 3.0 * np.arange(count),
        component,
        main,
        intercept,
        seed,
    )


def node_rows(count: int, workloads: list[str]) -> pd.DataFrame:
    """Rows of one node under `workloads` in turn: package = 20 + 0.03·cpu + 0.002·cache W; uncore is always 0."""
    chance = np.random.default_rng(0)
    cpu, cache = chance.uniform(0, 4000, count), chance.uniform(0, 9000, count)
    return pd.DataFrame(
        {
            "time": pd.date_range("2026-11-14", periods=count, freq="15s", tz="UTC"),
            "node": "a",
            "workload": [workloads[row * len(workloads) // count] for row in range(count)],
            "bpf_cpu_time_ms": cpu,
            "bpf_page_cache_hit": cache,
            "package": 20 + 0.03 * cpu + 0.002 * cache,
            "uncore": 0.0,
        }
    )

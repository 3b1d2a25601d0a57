"""Rows for a trainer, from a matrix."""

from __future__ import annotations

import numpy as np

from kepler_train.train.training_set import TrainingSet


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

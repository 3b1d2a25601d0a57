"""What a model's metadata say of its training: the rows behind it, and what its figures cannot say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.collect.schedule import IDLE
from kepler_train.events import say
from kepler_train.extract.lags import without_lag
from kepler_train.models import PowerModel
from kepler_train.models.hull import Hull
from kepler_train.spec import RunSpec
from kepler_train.train.protocols import BLOCK, Windows, gap_of
from kepler_train.train.subsample import subsample_note
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


def about_rows(rows: pd.DataFrame, trainer: Trainer, sets: Mapping[str, TrainingSet], spec: RunSpec) -> dict[str, Any]:
    """The window, workloads with their rows, how rows are held out, what stands for load, and notes for the reader."""
    workloads = rows["workload"].value_counts(sort=False)
    constant = {name: float(data.y[0]) for name, data in sets.items() if np.ptp(data.y) == 0}
    notes = [f"{name} is {watts:g} W in every row: there is nothing to learn of it" for name, watts in constant.items()]
    if all(str(name).startswith(BLOCK) for name in workloads.index):
        notes.append("no schedule is known: blocks of time stand for loads, and unseen load is the same as blocked")
    elif len(set(workloads.index) - {IDLE}) < 2:
        notes.append("there is one workload only: how wrong the model is under another is not known")
    if part := subsample_note(trainer.name, len(rows)):
        notes.append(part)
    for note in notes:
        say(f"train: {note}")
    known = catalog().trainers.get(trainer.name)
    return {
        "window": [moment.isoformat() for moment in (rows["time"].min(), rows["time"].max())],
        "rows": len(rows),
        "workloads": {str(name): int(count) for name, count in workloads.items()},
        "settings": (dict(known.settings) if known else {}) | {"seed": spec.seed},
        "evaluation": {
            "folds": spec.folds,
            "gap_windows": gap_of(len(rows), spec.folds, trainer.lags),
            "window_seconds": Windows.of(rows).seconds,
        },
        "main_features": {name: data.features[data.main] for name, data in sets.items()},
        "notes": notes,
    }


def hulls(model: PowerModel, rows: pd.DataFrame, *, parts: bool) -> dict[str, Any]:
    """The hull of the rows over the features that each component looks at, now or in an earlier window."""
    found: dict[str, Any] = {}
    known: dict[tuple[str, ...], dict[str, Any]] = {}
    for component, fitted in model.components.items():
        own = tuple(sorted({without_lag(name) for name in fitted.features}))
        if own not in known:
            known[own] = Hull.of(rows, list(own), parts=parts).as_dict()
        found[component] = known[own]
    return found

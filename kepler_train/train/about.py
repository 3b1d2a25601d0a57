"""What a model's metadata say of its training: the rows behind it, and what its figures cannot say."""

from __future__ import annotations

from typing import Any

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.evaluate.protocols import gap_of
from kepler_train.events import say
from kepler_train.extract.row_times import BLOCK
from kepler_train.isolate.attribution import rule_weights
from kepler_train.models import PowerModel
from kepler_train.models.lags import without_lag
from kepler_train.samples.schedule import IDLE
from kepler_train.spec import RunSpec
from kepler_train.train.cpu_time import cpu_time_feature
from kepler_train.train.methods.subsample import subsample_note
from kepler_train.train.rows import TrainingRows
from kepler_train.train.trainer import Trainer


def about_rows(data: TrainingRows, trainer: Trainer, spec: RunSpec) -> dict[str, Any]:
    """The window, workloads with their rows, how rows are held out, what stands for load, notes for the reader."""
    constant = {name: float(own.y[0]) for name, own in data.sets.items() if np.ptp(own.y) == 0}
    notes = [f"{name} is {watts:g} W in every row: there is nothing to learn of it" for name, watts in constant.items()]
    if data.note:
        notes.append(data.note)
    if all(name.startswith(BLOCK) for name in data.workloads):
        notes.append("no schedule is known: blocks of time stand for loads, and unseen load is the same as blocked")
    elif len(set(data.workloads) - {IDLE}) < 2:
        notes.append("there is one workload only: how wrong the model is under another is not known")
    if part := subsample_note(trainer.name, len(data.rows)):
        notes.append(part)
    for note in notes:
        say(f"train: {note}")
    known = catalog().trainers.get(trainer.name)
    return {
        "window": [moment.isoformat() for moment in data.window],
        "rows": len(data.rows),
        "workloads": data.workloads,
        "settings": (dict(known.settings) if known else {}) | {"seed": spec.seed},
        "evaluation": {
            "folds": spec.folds,
            "gap_windows": gap_of(len(data.rows), spec.folds, trainer.lags),
            "window_seconds": data.window_seconds,
        },
        "trivial_features": {name: cpu_time_feature(data.rows, own) for name, own in data.sets.items()},
        "features_from": data.features_from,
        "main_features": {name: own.features[own.main] for name, own in data.sets.items()},
        "notes": notes,
    }


def hulls(model: PowerModel, data: TrainingRows, *, parts: bool) -> dict[str, Any]:
    """The hull of the rows over the features that each component looks at, now or in an earlier window."""
    return {
        component: data.hull(tuple(sorted({without_lag(name) for name in fitted.features})), parts=parts)
        for component, fitted in model.components.items()
    }


def sharing(data: TrainingRows, rule: str, group: str) -> dict[str, dict[str, float]]:
    """By which weights of features containers share the power of each component of their node."""
    features = [name for name in data.features if catalog().adds_up(name)]
    X = data.rows[features].to_numpy(dtype=np.float64)
    found = {}
    for component, own in data.sets.items():
        weights = rule_weights(rule, catalog().group(group), component, features, X, own.y)
        found[component] = {name: float(weight) for name, weight in zip(features, weights, strict=True) if weight}
    return found

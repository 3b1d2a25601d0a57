"""The metadata of a model that training knows: the rows behind it, how it was trained, what a reader should note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.columns import INPUT
from kepler_train.evaluate.additivity import additivity_error
from kepler_train.evaluate.intervals import intervals
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import gap_of
from kepler_train.events import say
from kepler_train.extract.row_times import BLOCK
from kepler_train.isolate.attribution import rule_weights
from kepler_train.model_key import ModelKey
from kepler_train.models import PowerModel
from kepler_train.models.lags import without_lag
from kepler_train.models.metadata import ADDITIVE, HoldingOut, PreviousModel, Training
from kepler_train.samples.schedule import IDLE
from kepler_train.spec import RunSpec
from kepler_train.train.held_out import cpu_time_feature
from kepler_train.train.methods.subsample import subsample_note
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_rows import TrainingRows


def training_of(
    key: ModelKey,
    spec: RunSpec,
    data: TrainingRows,
    trainer: Trainer,
    model: PowerModel,
    held_out: HeldOut,
    containers: Path,
    *,
    continued: bool,
    previous: PreviousModel | None,
) -> Training:
    """Return the metadata of a model that was trained on rows of nodes; DynPower is to add up for `containers`."""
    notes = _notes(data, trainer)
    for note in notes:
        say(f"train: {note}")
    entry = catalog().trainers.get(trainer.name)
    return Training(
        output_type=key.output_type,
        energy_source=key.source,
        feature_group=key.group,
        machine_spec=data.machine.model_dump(exclude_none=True) if data.machine else {},
        machine_id=spec.machine_id,
        continued=continued,
        interval=intervals(held_out, spec.interval_level),
        hull=_hulls(model, data, parts=key.output_type == "DynPower"),
        window=[moment.isoformat() for moment in data.window],
        rows=len(data.rows),
        workloads=data.workloads,
        settings=(dict(entry.settings) if entry else {}) | {"seed": spec.seed},
        evaluation=HoldingOut(
            folds=spec.folds,
            gap_windows=gap_of(len(data.rows), spec.folds, trainer.lags),
            window_seconds=data.window_seconds,
        ),
        trivial_features={name: cpu_time_feature(data.rows, rows) for name, rows in data.sets.items()},
        features_from=data.features_from,
        main_features={name: rows.features[rows.main] for name, rows in data.sets.items()},
        notes=notes,
        **_of_some(key, spec, data, trainer, model, containers, previous),
    )


def _of_some(
    key: ModelKey,
    spec: RunSpec,
    data: TrainingRows,
    trainer: Trainer,
    model: PowerModel,
    containers: Path,
    previous: PreviousModel | None,
) -> dict[str, Any]:
    """Return the entries that only some models have: of `auto`, of pipelines published before, of DynPower."""
    entries: dict[str, Any] = {
        name: value for name in ("chosen", "left_out") if (value := getattr(trainer, name, None))
    }
    if previous:
        entries["previous"] = previous
    if INPUT in data.rows.columns:
        counted = data.rows[INPUT].value_counts(sort=False)
        entries["inputs"] = {str(name): int(count) for name, count in counted.items()}
    if key.output_type == "DynPower":
        entries["additivity_error"] = additivity_error(model, containers)
        entries["attribution"] = ADDITIVE if trainer.additive else spec.attribution
        if not trainer.additive:
            entries["sharing"] = _sharing(data, spec.attribution, key.group)
    return entries


def _notes(data: TrainingRows, trainer: Trainer) -> list[str]:
    """Return what a reader of the figures should know."""
    constant = {name: float(rows.y[0]) for name, rows in data.sets.items() if np.ptp(rows.y) == 0}
    notes = [f"{name} is {watts:g} W in every row: there is nothing to learn of it" for name, watts in constant.items()]
    if data.note:
        notes.append(data.note)
    if all(name.startswith(BLOCK) for name in data.workloads):
        notes.append("no schedule is known: blocks of time stand for loads, and unseen load is the same as blocked")
    elif len(set(data.workloads) - {IDLE}) < 2:
        notes.append("there is one workload only: how wrong the model is under another is not known")
    if part := subsample_note(trainer.name, len(data.rows)):
        notes.append(part)
    return notes


def _hulls(model: PowerModel, data: TrainingRows, *, parts: bool) -> dict[str, Any]:
    """Return the hull of the rows over the features that each component looks at, now or in an earlier window."""
    return {
        component: data.hull(tuple(sorted({without_lag(name) for name in fitted.features})), parts=parts)
        for component, fitted in model.components.items()
    }


def _sharing(data: TrainingRows, rule: str, group: str) -> dict[str, dict[str, float]]:
    """Return the weights of features by which containers share the power of each component of their node."""
    features = [name for name in data.features if catalog().adds_up(name)]
    X = data.rows[features].to_numpy(dtype=np.float64)
    sharing = {}
    for component, rows in data.sets.items():
        weights = rule_weights(rule, catalog().group(group), component, features, X, rows.y)
        sharing[component] = {name: float(weight) for name, weight in zip(features, weights, strict=True) if weight}
    return sharing

"""Models to go on from: the latest of the pipeline that `continue_from` names.

A run keeps them with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.

Training starts afresh where the earlier model is of another trainer or node type, was made with other settings, or has
seen rows of the present window: those that are held out now would flatter it. A component starts afresh alone where its
features differ, or where it has as many trees as a model may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from kepler_train.catalog import catalog
from kepler_train.errors import KeplerTrainError
from kepler_train.events import say, warn
from kepler_train.model_key import ModelKey, model_name
from kepler_train.models import ComponentModel, PowerModel, TreesModel
from kepler_train.models.artifact import read_model
from kepler_train.models.metadata import Training
from kepler_train.spec import RunSpec
from kepler_train.train.trainer import trainer as find_trainer

CHECKPOINTS = "checkpoints"


def checkpoints(
    kept: Path | None, key: ModelKey, spec: RunSpec, features: Mapping[str, list[str]], start: datetime
) -> dict[str, ComponentModel]:
    """Return the models of the same trainer to go on from, by component; say so, or why there are none.

    `features` are those of the rows, which begin at `start`.
    """
    trainer = key.trainer
    if not spec.continue_from or not find_trainer(trainer).continues:
        return {}
    before = _of_node_type(kept / CHECKPOINTS / str(key.family), trainer, spec.settled_node_type) if kept else None
    if before is None:
        say(f"train: training starts afresh, because {spec.continue_from} has no model of {trainer} to go on from")
        return {}
    try:
        models, sentence = go_on(*read_model(before), trainer, spec.settled_node_type, features, start)
    except KeplerTrainError as error:
        why = str(error).replace(f"{before.parent}/", "")
        warn(f"Training starts afresh, because the model of {spec.continue_from} cannot be read: {why}")
        return {}
    say(f"train: {sentence}")
    return models


def _of_node_type(family: Path, trainer: str, node_type: int) -> Path | None:
    """Return the model of a trainer for a node type, else the first for another type: `go_on` says why not that."""
    model = family / model_name(trainer, node_type)
    return model if model.is_dir() else next(iter(sorted(family.glob(f"{trainer}_*"))), None)


def go_on(
    before: PowerModel,
    metadata: Training,
    trainer: str,
    node_type: int,
    features: Mapping[str, list[str]],
    start: datetime,
) -> tuple[dict[str, ComponentModel], str]:
    """Return the models to go on from, by component, and a sentence on them.

    `features` are those of the rows now, which begin at `start`.
    """
    if why := _afresh(before, metadata, trainer, node_type, start):
        return {}, f"training starts afresh and not from {before.name}, because {why}"
    reasons = {component: _differs(before, component, names) for component, names in features.items()}
    models = {name: before.components[name].model for name, why in reasons.items() if not why}
    afresh = "; ".join(f"{name} starts afresh, because {why}" for name, why in reasons.items() if why)
    going = f"training goes on from {before.name} for {', '.join(models)}" if models else ""
    return models, "; ".join(part for part in (going, afresh) if part)


def _afresh(before: PowerModel, metadata: Training, trainer: str, node_type: int, start: datetime) -> str | None:
    if before.trainer != trainer:
        return f"that is of {before.trainer}"
    if before.node_type != node_type:
        return f"that is of node type {before.node_type} and not {node_type}"
    if metadata.end is None or metadata.end >= start:
        return "it has seen rows that are held out now"
    entry = catalog().trainers.get(trainer)
    if entry and any(metadata.settings.get(name) != value for name, value in entry.settings.items()):
        return "it was made with other settings"
    return None


def _differs(before: PowerModel, component: str, features: list[str]) -> str | None:
    fitted = before.components.get(component)
    if fitted is None:
        return "it is new"
    if fitted.features != features:
        return f"its features were {', '.join(fitted.features)}"
    entry = catalog().trainers.get(before.trainer)
    if isinstance(fitted.model, TreesModel) and entry and "max_trees" in entry.settings:
        trees, most = fitted.model.booster.num_boosted_rounds(), entry.settings["max_trees"]
        if trees + entry.settings["n_estimators"] > most:
            return f"it has {trees} trees already, and a model may have {most}"
    return None

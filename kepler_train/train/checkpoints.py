"""Models to go on from: the latest of the pipeline that `continue_from` names.

A run keeps them with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from kepler_train.errors import KeplerTrainError
from kepler_train.events import say, warn
from kepler_train.model_key import ModelKey, model_name
from kepler_train.models import ComponentModel
from kepler_train.models.artifact import read_model
from kepler_train.spec import RunSpec
from kepler_train.train.checkpoint import go_on
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
    before = _of_node_type(kept / CHECKPOINTS / str(key.family), trainer, spec.node_type) if kept else None
    if before is None:
        say(f"train: training starts afresh, because {spec.continue_from} has no model of {trainer} to go on from")
        return {}
    try:
        models, sentence = go_on(*read_model(before), trainer, spec.node_type, features, start)
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

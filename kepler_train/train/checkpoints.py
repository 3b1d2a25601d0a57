"""Models to go on from: the latest of the pipeline that `continue_from` names.

A run keeps them with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from kepler_train.errors import KeplerTrainError
from kepler_train.events import say, warn
from kepler_train.models import ComponentModel
from kepler_train.models.artifact import read_model
from kepler_train.spec import RunSpec
from kepler_train.train.checkpoint import go_on
from kepler_train.train.trainer import trainer as find_trainer

CHECKPOINTS = "checkpoints"


def checkpoints(
    kept: Path | None, part: str, spec: RunSpec, features: Mapping[str, list[str]], start: datetime
) -> dict[str, ComponentModel]:
    """The models of the same trainer to go on from, by component, saying so, or why there are none.

    `features` are those of the rows, which begin at `start`.
    """
    trainer = part.rpartition("/")[2]
    if not spec.continue_from or not find_trainer(trainer).continues:
        return {}
    before = _of_node_type(kept / CHECKPOINTS / part, spec.node_type) if kept else None
    if before is None:
        say(f"train: training starts afresh, because {spec.continue_from} has no model of {trainer} to go on from")
        return {}
    try:
        found, sentence = go_on(*read_model(before), trainer, spec.node_type, features, start)
    except KeplerTrainError as error:
        why = str(error).replace(f"{before.parent}/", "")
        warn(f"Training starts afresh, because the model of {spec.continue_from} cannot be read: {why}")
        return {}
    say(f"train: {sentence}")
    return found


def _of_node_type(trainer: Path, node_type: int) -> Path | None:
    """The model of a trainer for a node type; else one of another type, of which it will be said."""
    own = trainer.with_name(f"{trainer.name}_{node_type}")
    return own if own.is_dir() else next(iter(sorted(trainer.parent.glob(f"{trainer.name}_*"))), None)

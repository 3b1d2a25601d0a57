"""Keep with the plan the models to go on from: the latest of the pipeline that `continue_from` names."""

from __future__ import annotations

import shutil
from pathlib import Path

from kepler_train.model_key import Family, trainer_of
from kepler_train.parts import models_of
from kepler_train.publish.fetch import fetch_models
from kepler_train.scratch import ScratchFolder
from kepler_train.spec import RunSpec
from kepler_train.train.checkpoints import CHECKPOINTS
from kepler_train.train.trainer import trainer as find_trainer


def keep_checkpoints(spec: RunSpec, models: str, folder: Path) -> None:
    """Copy the models at an address that the trainers of a spec can go on from, where there are any."""
    if not spec.continue_from:
        return
    trainers: dict[Family, set[str]] = {}
    for key in models_of(spec):
        if find_trainer(key.trainer).continues:
            trainers.setdefault(key.family, set()).add(key.trainer)
    for family in sorted(trainers):
        with ScratchFolder() as scratch:
            for model in fetch_models(models, spec.continue_from, family, scratch) or ():
                if trainer_of(model.name) in trainers[family]:
                    shutil.copytree(model, folder / CHECKPOINTS / str(family) / model.name)

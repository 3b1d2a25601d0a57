"""Keep with the plan the models to go on from: the latest of the pipeline that `continue_from` names."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kepler_train.parts import models_of
from kepler_train.publish.fetch import fetch_models
from kepler_train.spec import RunSpec
from kepler_train.train.checkpoints import CHECKPOINTS
from kepler_train.train.trainer import trainer as find_trainer


def keep_checkpoints(spec: RunSpec, models: str, folder: Path) -> None:
    """Copy the models at an address that the trainers of a spec can go on from, where there are any."""
    if not spec.continue_from:
        return
    parts = {part for part in models_of(spec) if find_trainer(part.rpartition("/")[2]).continues}
    for family in sorted({part.rpartition("/")[0] for part in parts}):
        with tempfile.TemporaryDirectory(prefix="kepler-train-") as scratch:
            for model in fetch_models(models, spec.continue_from, family, Path(scratch)) or ():
                if f"{family}/{model.name.rpartition('_')[0]}" in parts:
                    shutil.copytree(model, folder / CHECKPOINTS / family / model.name)

"""What `train` and `train-from-data` share: models to go on from, and the folder of the trained pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import move
from typing import Any

from kepler_train.cli.files import model_path
from kepler_train.errors import DataError
from kepler_train.events import say
from kepler_train.export.database import is_pipeline
from kepler_train.export.layout import complete_arguments
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.parts import models_of
from kepler_train.plan.checkpoints import keep_checkpoints
from kepler_train.plan.previous import keep_previous
from kepler_train.runs.temporary import TemporaryRun, Write
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures


def keep_earlier_models(spec: RunSpec) -> Write:
    """Return what keeps, of the models below MODEL_PATH, those to go on from and those to compare with."""

    def keep(folder: Path) -> None:
        keep_checkpoints(spec, str(model_path("")), folder)
        keep_previous(spec, str(model_path("")), folder)

    return keep


def train_into(place: Path, run: TemporaryRun, arguments: Mapping[str, Any] | None = None) -> Figures:
    """Train the models of a run and move those that pass to a folder; refuse the run when none does.

    `arguments` are added to those that the pipeline says it was trained with.
    """
    figures = run.train()
    if not figures["models"]:
        home = model_path(run.spec.pipeline)
        raise DataError(f"None of the {figures['trained']} models passes the gate: {home} is not written.")
    exported, earlier = run.folder("export") / run.spec.pipeline, model_path(run.spec.pipeline)
    if is_pipeline(earlier):
        PipelineMetadata.read(exported).after(PipelineMetadata.read(earlier)).write(exported)
    move(exported, place)
    if arguments:
        complete_arguments(place, arguments)
    return figures


def tell_trained(spec: RunSpec, figures: Figures) -> None:
    """Say what was written; a model that could not be trained is an error in the end."""
    home, models = model_path(spec.pipeline), len(models_of(spec))
    report = home / "README.md"
    say(f"Wrote {home}: {figures['models']} models, {figures['refused']} refused; {report} says how good.")
    if figures["trained"] < models:
        raise DataError(f"{models - figures['trained']} of {models} models could not be trained: {report} says why.")

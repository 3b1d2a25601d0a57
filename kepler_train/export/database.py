"""Model databases: `<models>/<format version>/<pipeline>`, as kepler-model-db has them.

| file | what |
|---|---|
| `v0.7/<pipeline>/` | the pipeline, in the layout of `layout` |
| `v0.7/<pipeline>.zip` | the same in one file, which an earlier model server downloads |
| `v0.7/README.md`, `v0.7/.doc/` | the list of pipelines |
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from kepler_train.errors import UserError
from kepler_train.export.layout import pickle_model
from kepler_train.export.leaderboard import write_leaderboard
from kepler_train.export.model_tables import own_models
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.models.archive import write_archive

FORMAT_VERSION = "v0.7"  # whose readers know the layout
_FORMAT = re.compile(r"v\d+\.\d+")


def is_pipeline(folder: Path) -> bool:
    """Tell whether a folder is a pipeline's: its metadata carry its own name."""
    try:
        PipelineMetadata.read(folder)
    except UserError:
        return False
    return True


def version_folder(models: Path, option: str) -> Path:
    """Return the folder of pipelines in a model database that an option names by its folder of models.

    That folder may be new or empty, and the folder of the format version itself may be named too. Refuse a folder that
    is no model database, before anything is written there.
    """
    named = f"{option} {models}"
    if models.exists() and not models.is_dir():
        raise UserError(f"{named} is a file: name the folder of models of a model database, or a new one.")
    if _FORMAT.fullmatch(models.name):
        if models.name != FORMAT_VERSION:
            raise UserError(
                f"{named} is of another format than {FORMAT_VERSION}, which is written: name the folder above."
            )
        return models
    entries = sorted(path for path in models.iterdir() if path.name[0] != ".") if models.is_dir() else []
    if not entries or any(_FORMAT.fullmatch(path.name) or is_pipeline(path) for path in entries):
        return models / FORMAT_VERSION
    below = models / "models"
    if below.is_dir() and any(_FORMAT.fullmatch(path.name) for path in below.iterdir()):
        raise UserError(f"{named} is not the folder of models of the model database: name {below}.")
    raise UserError(
        f"{named} is not a model database: it holds {entries[0].name} and no folder of a format version such as"
        f" {FORMAT_VERSION}. Name the folder of models of one, or a new one."
    )


def copy_pipeline(
    pipeline: Path, out: Path, provenance: Mapping[str, str], archives: bool, pickles: bool = False
) -> int:
    """Copy a pipeline to the folder `out`; return the number of models.

    `provenance` are entries of its metadata that the user knows better. With `archives` every model is in a zip too;
    with `pickles` models have what clients of kepler-model-server 0.7 load.
    """
    metadata = PipelineMetadata.read(pipeline).with_provenance(provenance)
    shutil.copytree(pipeline, out)
    metadata.write(out)
    models = own_models(out)
    for model in models:
        archive = model.with_name(f"{model.name}.zip")
        archive.unlink(missing_ok=True)
        if pickles:
            pickle_model(model)
        if archives:
            write_archive(model, archive)
    write_leaderboard(out, models)  # which has the sizes of archives
    return len(models)


def held_out_errors(pipeline: Path) -> pd.DataFrame:
    """Return the held-out error of every model of a pipeline: `model`, `component`, `protocol` and `mae` (W)."""
    rows = []
    for metadata in own_models(pipeline).values():
        for protocol, components in metadata.figures.items():
            rows += [
                {"model": str(metadata.key), "component": component, "protocol": protocol, "mae": figures.mae}
                for component, figures in components.items()
            ]
    if not rows:
        raise UserError(f"{pipeline} has no models: train it first, or check MODEL_PATH and the name.")
    return pd.DataFrame(rows)

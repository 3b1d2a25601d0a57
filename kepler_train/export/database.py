"""A trained pipeline copied into a model database, with who publishes it and when its data were collected."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pandas as pd

from kepler_train.errors import UserError
from kepler_train.export.layout import pickle_model
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.models.archive import write_archive
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA


def is_pipeline(folder: Path) -> bool:
    """Tell whether a folder is a pipeline's: its metadata carry its own name."""
    try:
        PipelineMetadata.read(folder)
    except UserError:
        return False
    return True


def copy_pipeline(
    pipeline: Path, out: Path, publisher: str, collected: datetime | None, archives: bool, pickles: bool = False
) -> int:
    """Copy a pipeline to the folder `out`; return the number of models.

    With `pickles` its models have what clients of kepler-model-server 0.7 load.
    """
    provenance = {"publisher": publisher, "collect_time": f"{collected:%Y-%m-%dT%H:%M:%SZ}" if collected else ""}
    known = {name: text for name, text in provenance.items() if text}
    metadata = PipelineMetadata.read(pipeline).model_copy(update=known)
    shutil.copytree(pipeline, out)
    metadata.write(out)
    models = [file.parent for file in sorted(out.glob(f"*/*/*/*/{METADATA}"))]
    for model in models:
        archive = model.with_name(f"{model.name}.zip")
        archive.unlink(missing_ok=True)
        if pickles:
            pickle_model(model)
        if archives:
            write_archive(model, archive)
    return len(models)


def held_out_errors(pipeline: Path) -> pd.DataFrame:
    """Return the held-out error of every model of a pipeline: `model`, `component`, `protocol` and `mae` (W)."""
    rows = []
    for file in sorted(pipeline.glob(f"*/*/*/*/{METADATA}")):
        metadata = read_metadata(file.parent)
        for protocol, components in metadata.figures.items():
            rows += [
                {"model": str(metadata.key), "component": component, "protocol": protocol, "mae": figures.mae}
                for component, figures in components.items()
            ]
    if not rows:
        raise UserError(f"{pipeline} has no models: train it first, or check MODEL_PATH and the name.")
    return pd.DataFrame(rows)

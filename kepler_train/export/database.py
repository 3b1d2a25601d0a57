"""A trained pipeline copied into a model database, with who publishes it and when its data were collected."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path

import pandas as pd

from kepler_train.errors import UserError
from kepler_train.models.artifact import METADATA


def is_pipeline(folder: Path) -> bool:
    """Whether a folder is a pipeline's: its metadata carry its own name."""
    try:
        return bool(json.loads((folder / METADATA).read_text(encoding="utf-8"))["name"] == folder.name)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def copy_pipeline(pipeline: Path, out: Path, publisher: str, collected: datetime | None, archives: bool) -> int:
    """Copy a pipeline to the folder `out`; answers the number of models."""
    if not is_pipeline(pipeline):
        raise UserError(f"{pipeline} is not a trained pipeline: train it first, or check MODEL_PATH and the name.")
    shutil.copytree(pipeline, out)
    metadata = json.loads((out / METADATA).read_text(encoding="utf-8"))
    if publisher:
        metadata["publisher"] = publisher
    if collected:
        metadata["collect_time"] = f"{collected:%Y-%m-%dT%H:%M:%SZ}"
    (out / METADATA).write_text(json.dumps(metadata, indent=1), encoding="utf-8")
    zips = list(out.glob("*/*/*/*.zip"))
    if not archives:
        for archive in zips:
            archive.unlink()
    return len(zips)


def held_out_errors(pipeline: Path) -> pd.DataFrame:
    """The held-out error of every model of a pipeline: `model`, `component`, `protocol` and `mae` (W)."""
    rows = []
    for file in sorted(pipeline.glob(f"*/*/*/*/{METADATA}")):
        metadata = json.loads(file.read_text(encoding="utf-8"))
        model = f"{'/'.join(file.parts[-5:-2])}/{metadata['trainer']}"
        for protocol, components in metadata["figures"].items():
            rows += [
                {"model": model, "component": component, "protocol": protocol, "mae": figures["mae"]}
                for component, figures in components.items()
            ]
    if not rows:
        raise UserError(f"{pipeline} has no models: train it first, or check MODEL_PATH and the name.")
    return pd.DataFrame(rows)

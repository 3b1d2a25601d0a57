"""Give the models of a pipeline another node type: its number is in their names, and their names are in many files."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kepler_train.evaluate.window_rows import rows_folder
from kepler_train.export.arguments import ARGUMENTS
from kepler_train.export.layout import ERROR_REPORT
from kepler_train.export.model_tables import write_model_tables
from kepler_train.isolate.preprocessed import FOLDER as PREPROCESSED
from kepler_train.machine.node_types import NODE_TYPES
from kepler_train.model_key import model_name
from kepler_train.models.archive import write_archive
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA, WEIGHTS, read_json, write_json
from kepler_train.models.sums import write_sums


def renumber(pipeline: Path, old: int, new: int) -> None:
    """Change the number of the one node type of a pipeline's folder, wherever it is."""
    names = {
        metadata.parent.name: _renumber_model(metadata.parent, new)
        for metadata in sorted(pipeline.glob(f"*/*/*/{model_name('*', old)}/{METADATA}"))
    }
    reports = list((pipeline / ERROR_REPORT).glob(f"node_type_{old}.*"))
    write_model_tables(pipeline)
    for file in reports:
        for before, after in names.items():
            _replace(file, before, after)
    for report in reports:
        report.rename(report.with_name(f"node_type_{new}{report.suffix}"))
    index = json.loads((pipeline / NODE_TYPES).read_text(encoding="utf-8"))
    (pipeline / NODE_TYPES).write_text(json.dumps({str(new): index[str(old)]}) + "\n", encoding="utf-8")
    arguments = json.loads((pipeline / ARGUMENTS).read_text(encoding="utf-8"))
    (pipeline / ARGUMENTS).write_text(json.dumps(arguments | {"node_type": new}, indent=1), encoding="utf-8")
    if (pipeline / rows_folder(old)).is_dir():
        (pipeline / rows_folder(old)).rename(pipeline / rows_folder(new))
    for rows in (pipeline / PREPROCESSED).glob("*.csv"):
        _renumber_rows(rows, new)


def _renumber_model(folder: Path, number: int) -> str:
    """Rename a model's folder, and its files beside it and in it that carry its name; return the new name."""
    metadata = read_metadata(folder)
    name = model_name(metadata.trainer, number)
    for beside in (folder.with_name(f"{folder.name}.json"), folder.with_name(f"{folder.name}.zip")):
        beside.unlink(missing_ok=True)
    (folder / metadata.model_file).rename(folder / f"{name}.json")
    renamed = metadata.model_copy(update={"model_name": name, "model_file": f"{name}.json", "node_type": number})
    write_json(folder / METADATA, renamed.content())
    for card in folder.glob("*.md"):
        _replace(card, metadata.model_name, name)
    if (folder / WEIGHTS).is_file():
        write_json(folder / WEIGHTS, read_json(folder / WEIGHTS) | {"model_name": name})
    write_sums(folder)
    place = folder.rename(folder.with_name(name))
    if (place / WEIGHTS).is_file():
        (place.with_name(f"{name}.json")).write_bytes((place / WEIGHTS).read_bytes())
    write_archive(place, place.with_name(f"{name}.zip"))
    return name


def _renumber_rows(file: Path, number: int) -> None:
    """Write another node type into the rows of a table of earlier tools, which have it in a column."""
    import pandas as pd

    first = True
    beside = file.with_suffix(".new")
    for part in pd.read_csv(file, chunksize=100_000, dtype=str, keep_default_na=False):
        part.assign(node_type=str(number)).to_csv(beside, mode="w" if first else "a", header=first, index=False)
        first = False
    if not first:
        beside.replace(file)


def _replace(file: Path, before: str, after: str) -> None:
    """Replace the name of a model, where it is not a part of another name."""
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(rf"\b{re.escape(before)}\b", after, text), encoding="utf-8")

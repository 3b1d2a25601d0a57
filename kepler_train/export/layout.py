"""The folder of a pipeline as kepler-model-db and its readers know it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HELD_OUT, MODEL, HeldOut
from kepler_train.events import warn
from kepler_train.export.arguments import ARGUMENTS
from kepler_train.export.card import CARD, PICTURE, write_card
from kepler_train.export.error_tables import error_report, error_tables
from kepler_train.export.model_tables import write_model_tables
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.machine.choice import RunNodeType
from kepler_train.machine.node_types import NODE_TYPES, NodeTypeIndex
from kepler_train.model_key import ModelKey
from kepler_train.models.archive import write_archive
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA, WEIGHTS, write_json
from kepler_train.models.pickles import add_pickles
from kepler_train.models.sums import write_sums
from kepler_train.spec import RunSpec

ERROR_REPORT = "error_report"
"""The folder with a table of errors for each node type of a pipeline."""


def export_model(trained: Path, home: Path, key: ModelKey, evaluation: Evaluation, *, pickles: bool = False) -> None:
    """Copy a model to `<source>/<output type>/<group>/<model name>/` with complete metadata, card, zip and weights.

    `trained` is what the train step left. With `pickles` it also has what clients of kepler-model-server 0.7 load.
    """
    model, verdict, place = trained / MODEL, evaluation.models[key], home / str(key.family)
    trivial = evaluation.trivial(key.family)
    refused = {"refused": verdict.refused} if verdict.refused else {}
    metadata = read_metadata(model).judged(verdict.mae, verdict.mape, verdict.figures, trivial=trivial, **refused)
    folder = place / metadata.model_name
    shutil.copytree(model, folder, copy_function=shutil.copyfile)  # whose they were is of no interest
    write_json(folder / METADATA, metadata.content())
    write_card(folder, metadata, HeldOut.read(trained / HELD_OUT))
    if (folder / WEIGHTS).exists():
        shutil.copyfile(folder / WEIGHTS, place / f"{metadata.model_name}.json")
    write_sums(folder, changed=(METADATA, CARD, PICTURE))
    if pickles:
        pickle_model(folder)
    write_archive(folder, folder.with_name(f"{folder.name}.zip"))


def pickle_model(folder: Path) -> None:
    """Add what clients of kepler-model-server 0.7 load to a model's folder, or say why there is none."""
    if reason := add_pickles(folder):
        warn(f"{folder.name} has no pickles: {reason}.")


def export_pipeline(
    home: Path,
    spec: RunSpec,
    isolator: str,
    evaluation: Evaluation,
    kind: RunNodeType,
    trained: tuple[datetime, datetime] | None = None,
    *,
    every: bool = False,
) -> None:
    """Write what describes the pipeline: its metadata, its arguments, its node type, tables of its models.

    `isolator` is the one that was used, which `auto` does not say; `trained` is when training began and ended. With
    `every` the error report has all models, else those that pass.
    """
    PipelineMetadata.of(spec, isolator, trained).write(home)
    (home / ARGUMENTS).write_text(spec.model_dump_json(indent=1), encoding="utf-8")
    index = NodeTypeIndex.empty().with_type(kind.number, kind.entry)
    (home / NODE_TYPES).write_text(index.text(), encoding="utf-8")
    write_model_tables(home)
    tables = error_tables(evaluation.models if every else evaluation.passing, kind.number)
    (home / ERROR_REPORT).mkdir()
    report = home / ERROR_REPORT / f"node_type_{kind.number}.md"
    report.write_text(error_report(tables, evaluation), encoding="utf-8")


def complete_arguments(home: Path, more: Mapping[str, Any]) -> None:
    """Add to the arguments of a pipeline what its spec does not say."""
    arguments = json.loads((home / ARGUMENTS).read_text(encoding="utf-8"))
    (home / ARGUMENTS).write_text(json.dumps(arguments | dict(more), indent=1), encoding="utf-8")

"""The version of a pipeline that is there now, published or in its folder: what a new one is compared with.

A run keeps it with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn
from kepler_train.models import PowerModel, Watts
from kepler_train.models.artifact import read_model
from kepler_train.publish.target import open_target
from kepler_train.publish.version import window_end_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Store, open_store

BEST = "previous_best"
# The spec of a pipeline, in its folder.
ARGUMENTS = "train_arguments.json"


def keep_previous(spec: RunSpec, models: str, folder: Path) -> None:
    """Copy the best published model of every source, output type and group of a spec, where there is one.

    A pipeline that was trained there and never published has no versions and is taken as it is. One of this window or
    a later one is not previous. Models that cannot be fetched stop no run.
    """
    try:
        version = open_target(models).latest(spec.pipeline)
        home = f"{spec.pipeline}/{version}" if version else spec.pipeline
        before = window_end_of(version) if version else _trained_until(models, home)
        end = _stamp(spec.end) if spec.end else "9"
        if before and before < end:
            _copy(spec, models, home, folder)
    except KeplerTrainError as error:
        warn(f"The models of {spec.pipeline} that are there are not compared with: {error}")


def _trained_until(models: str, home: str) -> str:
    """The end of the window that a pipeline was trained on, as in the name of a version; empty where none is there."""
    try:
        arguments = json.loads(open_store(models).read(f"{home}/{ARGUMENTS}") or "{}")
        return _stamp(datetime.fromisoformat(arguments["end"]))
    except (ValueError, KeyError, TypeError):
        return ""


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y%m%dT%H%M%SZ}"


def _copy(spec: RunSpec, models: str, home: str, folder: Path) -> None:
    store = open_store(models)
    keys = sorted(store.sizes(home))
    for model in _wanted(spec, store, home):
        with tempfile.TemporaryDirectory(prefix="kepler-train-") as scratch:
            for key in (key for key in keys if key.startswith(f"{home}/{model}/")):
                store.download(key, Path(scratch))
            shutil.copytree(Path(scratch, home, model), folder / BEST / model)


def _wanted(spec: RunSpec, store: Store, home: str) -> Iterator[str]:
    """The models to copy, from the tables of the pipeline, which are sorted by error."""
    for source in spec.energy_sources:
        for output_type in spec.output_types:
            table = (store.read(f"{home}/{source}_{output_type}_model_metadata.csv") or b"").decode("utf-8")
            own = f"_{spec.node_type}"
            rows = [row for row in csv.DictReader(table.splitlines()) if row["model_name"].endswith(own)]
            for group in spec.feature_groups:
                of_group = [row["model_name"] for row in rows if row["feature_group"] == group]
                yield from (f"{source}/{output_type}/{group}/{name}" for name in of_group[:1])


@dataclass(frozen=True)
class Previous:
    """A model that was published before, with its metadata."""

    model: PowerModel
    metadata: Mapping[str, Any]

    def overlaps(self, start: datetime) -> bool:
        """Whether it was trained on rows after `start`, and may have seen what it is judged by."""
        window = self.metadata.get("window")
        return not window or datetime.fromisoformat(window[1]) > start

    def watts(self, rows: pd.DataFrame, components: list[str]) -> dict[str, Watts] | None:
        """What it says about rows (W by component); None where it cannot say it of every component."""
        try:
            said = self.model.predict(rows)
        except KeplerTrainError as error:
            warn(f"The model published before is not compared with: {error}")
            return None
        return {name: said[name] for name in components} if set(components) <= set(said) else None


def best_before(kept: Path | None, part: str) -> Previous | None:
    """The best model of the same source, output type and group in what the plan kept."""
    family = part.rpartition("/")[0]
    return _read(next(iter(sorted((kept / BEST / family).glob("*"))), None)) if kept else None


def _read(folder: Path | None) -> Previous | None:
    if folder is None or not folder.is_dir():
        return None
    try:
        return Previous(*read_model(folder))
    except KeplerTrainError as error:
        warn(f"The model published before cannot be used: {error}")
        return None

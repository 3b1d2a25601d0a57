"""Keep with the plan the version of the pipeline that is there now: what a new one is compared with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from kepler_train import strict_json
from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn
from kepler_train.export.arguments import ARGUMENTS, TrainArguments
from kepler_train.export.published_table import read_table
from kepler_train.model_key import Family, error_table, model_name
from kepler_train.publish.fetch import fetch_model
from kepler_train.publish.target import open_target
from kepler_train.publish.version import window_end_of
from kepler_train.scratch import ScratchFolder
from kepler_train.spec import RunSpec
from kepler_train.train.previous import BEST
from kepler_train.workspace import FileStore, open_store


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
    """Return the end of the window that a pipeline was trained on, as in a version's name; empty without a pipeline."""
    try:
        content = open_store(models).read(f"{home}/{ARGUMENTS}")
        arguments = TrainArguments.model_validate(strict_json.parse(content or "{}"))
    except ValueError:
        return ""
    return _stamp(arguments.end) if arguments.end else ""


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y%m%dT%H%M%SZ}"


def _copy(spec: RunSpec, models: str, home: str, folder: Path) -> None:
    store = open_store(models)
    sizes = store.sizes(home)
    for model in _wanted(spec, store, home):
        with ScratchFolder() as scratch:
            shutil.copytree(fetch_model(store, sizes, f"{home}/{model}", scratch), folder / BEST / model)


def _wanted(spec: RunSpec, store: FileStore, home: str) -> Iterator[str]:
    """Yield the models to copy, from the tables of the pipeline, which are sorted by error."""
    for source in spec.energy_sources:
        for output_type in spec.output_types:
            file = f"{home}/{error_table(source, output_type)}"
            suffix = model_name("", spec.node_type)
            listed = [model for model in read_table(store.read(file), file) if model.name.endswith(suffix)]
            for group in spec.feature_groups:
                of_group = [model.name for model in listed if model.group == group]
                yield from (f"{Family(source, output_type, group)}/{name}" for name in of_group[:1])

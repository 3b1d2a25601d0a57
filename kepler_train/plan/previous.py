"""Keep with the plan the version of the pipeline that is there now: what a new one is compared with."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
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
from kepler_train.train.previous import BEST, BEST_VERSION
from kepler_train.workspace import FileStore, open_store


def keep_previous(spec: RunSpec, models: str, folder: Path) -> None:
    """Copy the best published model of every source, output type, group and node type of a spec, where there is one.

    A pipeline that was trained there and never published has no versions and is taken as it is. One of this window or
    a later one is not previous. Models that cannot be fetched stop no run.
    """
    try:
        version = open_target(models).latest(spec.pipeline)
        home = f"{spec.pipeline}/{version}" if version else spec.pipeline
        ends = _trained_until(models, home)
        if not ends and version:
            ends = dict.fromkeys([spec.node_type or 0], window_end_of(version))
        end = _stamp(spec.end) if spec.end else "9"
        earlier = {number for number, before in ends.items() if before and before < end}
        if wanted := earlier if spec.node_type is None else earlier & {spec.node_type}:
            _copy(spec, models, home, folder, wanted)
            if version and (folder / BEST).is_dir():
                (folder / BEST_VERSION).write_text(version, encoding="utf-8")
    except KeplerTrainError as error:
        warn(f"The models of {spec.pipeline} that are there are not compared with: {error}")


def _trained_until(models: str, home: str) -> dict[int, str]:
    """Return the end of the window that each node type was trained on, as in a version's name."""
    try:
        content = open_store(models).read(f"{home}/{ARGUMENTS}")
        arguments = TrainArguments.model_validate(strict_json.parse(content or "{}"))
    except ValueError:
        return {}
    return {number: _stamp(about.end) for number, about in arguments.by_type.items() if about.end}


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y%m%dT%H%M%SZ}"


def _copy(spec: RunSpec, models: str, home: str, folder: Path, node_types: Collection[int]) -> None:
    store = open_store(models)
    sizes = store.sizes(home)
    for model in _wanted(spec, store, home, node_types):
        with ScratchFolder() as scratch:
            shutil.copytree(fetch_model(store, sizes, f"{home}/{model}", scratch), folder / BEST / model)


def _wanted(spec: RunSpec, store: FileStore, home: str, node_types: Collection[int]) -> Iterator[str]:
    """Yield the models to copy, from the tables of the pipeline, which are sorted by error."""
    for source in spec.energy_sources:
        for output_type in spec.output_types:
            file = f"{home}/{error_table(source, output_type)}"
            listed = read_table(store.read(file), file)
            for group in spec.feature_groups:
                for number in sorted(node_types):
                    suffix = model_name("", number)
                    names = [model.name for model in listed if model.group == group and model.name.endswith(suffix)]
                    yield from (f"{Family(source, output_type, group)}/{name}" for name in names[:1])

"""Keep with the plan what is known of the background: the profile of the node type, and AbsPower models."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import KeplerTrainError, UserError
from kepler_train.isolate.background import MODELS
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.profile import PROFILES, parse_profile, profile_name, profile_number
from kepler_train.model_key import Family
from kepler_train.models import load_model
from kepler_train.models.artifact import read_metadata
from kepler_train.models.metadata import ModelMetadata
from kepler_train.plan.node_types import keep_node_types
from kepler_train.publish.fetch import fetch_models
from kepler_train.scratch import ScratchFolder
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileStore


def keep_known(spec: RunSpec, store: FileStore, models: str, folder: Path) -> None:
    """Keep in a folder what a spec needs of the profiles of a workspace and of the models at an address."""
    if "DynPower" not in spec.output_types:
        return
    if spec.isolator in MAY_USE_PROFILE:
        keep_profiles(spec, store, folder)
    if spec.isolator == "trainer":
        keep_models(spec, models, folder / MODELS)


def keep_profiles(spec: RunSpec, store: FileStore, folder: Path) -> None:
    """Keep the profile of the node type, or of every type where the machine is only known later."""
    named = None if spec.node_type is None else f"{PROFILES}/{profile_name(spec.node_type)}"
    for key in sorted(store.sizes(PROFILES)) if named is None else [named]:
        content = store.read(key)
        if content is not None and (number := profile_number(Path(key).name)) is not None:
            parse_profile(content, f"{store.uri}/{key}", number)
            (folder / PROFILES).mkdir(exist_ok=True)
            (folder / key).write_bytes(content)


def keep_models(spec: RunSpec, models: str, folder: Path) -> None:
    """Copy the best AbsPower model of `abs_pipeline` for every feature group and source of the spec, and node type.

    Of a spec that names its node type the others are left out; else the pipeline's index is copied, in which the
    machine is looked up when it is known.
    """
    if spec.node_type is None:
        keep_node_types(spec.abs_pipeline, models, folder)
    where = f"The pipeline {spec.abs_pipeline} at {models}"
    for group in spec.feature_groups:
        for source in spec.energy_sources:
            with ScratchFolder() as scratch:
                fetched = fetch_models(models, spec.abs_pipeline, Family(source, "AbsPower", group), scratch)
                if fetched is None:
                    raise UserError(f"{where} does not exist: train it first, or choose another isolator.")
                with _named_as_in(models, scratch):
                    judged = {model: read_metadata(model) for model in fetched}
                numbers = {data.node_type for data in judged.values()}
                if spec.node_type is not None:
                    numbers &= {spec.node_type}
                if not numbers:
                    of = f" of node type {spec.node_type}" if judged else ""
                    raise UserError(
                        f"{where} has no AbsPower model{of} for {source} on {group}: train it first, or choose another"
                        " isolator."
                    )
                for number in sorted(numbers):
                    of_type = {model: data for model, data in judged.items() if data.node_type == number}
                    best = min(of_type, key=lambda model: (_error(judged[model]), model.name))
                    with _named_as_in(models, scratch):
                        load_model(best)
                    shutil.copytree(best, folder / group / source / best.name)


@contextmanager
def _named_as_in(models: str, scratch: Path) -> Iterator[None]:
    """Let a refusal name the model at its address, not the copy of it."""
    try:
        yield
    except KeplerTrainError as error:
        raise type(error)(str(error).replace(str(scratch), models.rstrip("/"))) from None


def _error(metadata: ModelMetadata) -> float:
    return math.inf if metadata.mae is None else metadata.mae

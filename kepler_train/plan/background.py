"""Keep with the plan what is known of the background: the profile of the node type, and AbsPower models."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import KeplerTrainError, UserError
from kepler_train.isolate.background import MODELS, PROFILE
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.profile import PROFILES, parse_profile, profile_name
from kepler_train.model_key import Family
from kepler_train.models import load_model
from kepler_train.models.artifact import read_metadata
from kepler_train.models.metadata import ModelMetadata
from kepler_train.publish.fetch import fetch_models
from kepler_train.scratch import ScratchFolder
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileStore


def keep_known(spec: RunSpec, store: FileStore, models: str, folder: Path) -> None:
    """Keep in a folder what a spec needs of the profiles of a workspace and of the models at an address."""
    if "DynPower" not in spec.output_types:
        return
    key = f"{PROFILES}/{profile_name(spec.node_type)}"
    content = store.read(key) if spec.isolator in MAY_USE_PROFILE else None
    if content is not None:
        parse_profile(content, f"{store.uri}/{key}", spec.node_type)
        (folder / PROFILE).write_bytes(content)
    if spec.isolator == "trainer":
        keep_models(spec, models, folder / MODELS)


def keep_models(spec: RunSpec, models: str, folder: Path) -> None:
    """Copy the best AbsPower model of `abs_pipeline` for every feature group and source of the spec."""
    where = f"The pipeline {spec.abs_pipeline} at {models}"
    for group in spec.feature_groups:
        for source in spec.energy_sources:
            with ScratchFolder() as scratch:
                fetched = fetch_models(models, spec.abs_pipeline, Family(source, "AbsPower", group), scratch)
                if fetched is None:
                    raise UserError(f"{where} does not exist: train it first, or choose another isolator.")
                with _named_as_in(models, scratch):
                    judged = {model: read_metadata(model) for model in fetched}
                of_type = {model: data for model, data in judged.items() if data.node_type == spec.node_type}
                if not of_type:
                    of = f" of node type {spec.node_type}" if judged else ""
                    raise UserError(
                        f"{where} has no AbsPower model{of} for {source} on {group}: train it first, or choose another"
                        " isolator."
                    )
                best = min(of_type, key=lambda model: (_error(of_type[model]), model.name))
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

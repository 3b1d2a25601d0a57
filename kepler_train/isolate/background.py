"""What is known of the background before the data are read: profiles of idle machines, AbsPower models.

A run keeps both with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from kepler_train.arrays import Floats
from kepler_train.columns import power_column
from kepler_train.errors import UserError
from kepler_train.isolate.profile import (
    PROFILES,
    BackgroundProfile,
    merge_profiles,
    parse_profile,
    profile_file,
    profile_name,
)
from kepler_train.isolate.removal import PredictPower
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.choice import RunNodeType
from kepler_train.machine.node_types import NODE_TYPES, NodeTypeIndex
from kepler_train.model_key import model_name
from kepler_train.models import PowerModel, load_model
from kepler_train.models.files import METADATA
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileStore

PROFILE, MODELS = "profile.json", "abs_models"
# Profiles by node, where a command was given them.
PROFILES_BY_NODE = "profiles_by_node.json"
_BY_NODE = TypeAdapter(dict[str, BackgroundProfile])


@dataclass(frozen=True)
class KnownBackground:
    """Profiles by node (`ANY_NODE` for all), and AbsPower models by feature group and energy source."""

    profiles: Mapping[str, BackgroundProfile] = field(default_factory=dict)
    models: Mapping[tuple[str, str], PowerModel] = field(default_factory=dict)

    def _models_of(self, group: str) -> dict[str, PowerModel]:
        return {source: model for (model_group, source), model in self.models.items() if model_group == group}

    def columns(self, group: str) -> set[str]:
        """Return the power columns that the models of a group predict."""
        models = self._models_of(group)
        return {power_column(source, component) for source, model in models.items() for component in model.components}

    def predict(self, group: str) -> PredictPower:
        """Return the prediction of the models of a group from features, in the columns of the frames."""

        def power(usage: pd.DataFrame) -> dict[str, Floats]:
            return {
                power_column(source, component): np.asarray(watts)
                for source, model in self._models_of(group).items()
                for component, watts in model.predict(usage).items()
            }

        return power


def read_known_background(folder: Path, spec: RunSpec, kind: RunNodeType) -> KnownBackground:
    """Return what was kept in a folder for a node type.

    A profile of type 0 serves its own node only, unless the machines are known: earlier versions called all of them 0.
    """
    file, by_node = profile_file(folder / PROFILES, kind.number), folder / PROFILES_BY_NODE
    profiles: dict[str, BackgroundProfile] = {}
    if by_node.is_file():
        given = _BY_NODE.validate_json(by_node.read_bytes())
        # Who names a profile means it for this machine, whichever number the machine has in the pipeline.
        profiles = {name: profile.model_copy(update={"node_type": kind.number}) for name, profile in given.items()}
    elif file.is_file():
        profile = parse_profile(file.read_bytes(), file, kind.number)
        of_any = kind.number or (profile.machine and not kind.attrs.unknown())
        profiles = {ANY_NODE if of_any else profile.node: profile}
    return KnownBackground(profiles, _kept_models(folder / MODELS, spec, kind))


def _kept_models(folder: Path, spec: RunSpec, kind: RunNodeType) -> dict[tuple[str, str], PowerModel]:
    """Return the AbsPower model of every feature group and source for the machine of a run."""
    if not folder.is_dir():
        return {}
    number = kind.number
    if (folder / NODE_TYPES).is_file():  # the other pipeline has numbers of its own
        index = NodeTypeIndex.read(folder / NODE_TYPES)
        found = index.exact(kind.attrs)
        found = index.of_member(kind.members, kind.attrs) if found is None else found
        number = number if found is None else found
    models: dict[tuple[str, str], PowerModel] = {}
    for place in sorted(folder.glob("*/*")):
        files = list(place.glob(f"{model_name('*', number)}/{METADATA}"))
        if not files:
            group, source = place.parts[-2:]
            raise UserError(
                f"The pipeline {spec.abs_pipeline} has no AbsPower model of node type {number} for {source} on {group}:"
                " train it first, or choose another isolator."
            )
        models[place.parts[-2], place.parts[-1]] = load_model(files[0].parent)
    return models


def write_profiles(profiles: Mapping[str, BackgroundProfile], folder: Path) -> None:
    """Keep profiles by node in a folder, for `read_known_background`."""
    (folder / PROFILES_BY_NODE).write_bytes(_BY_NODE.dump_json(dict(profiles)))


def pass_on_profile(isolated: Path, folder: Path) -> None:
    """Copy the profile that isolation made of the run's own idle time, if it did."""
    if (isolated / PROFILE).is_file():
        shutil.copyfile(isolated / PROFILE, folder / PROFILE)


def promote_profile(content: bytes, store: FileStore) -> BackgroundProfile:
    """Merge the profile of a run into that of its node type in a workspace, and return the result."""
    fresh = merged = parse_profile(content, "The run's own profile")
    node_type = fresh.node_type
    key = f"{PROFILES}/{profile_name(node_type)}"

    def merge(before: bytes | None) -> bytes | None:
        nonlocal merged
        stored = parse_profile(before, f"{store.uri}/{key}", node_type) if before is not None else None
        merged = merge_profiles(stored, fresh)
        return None if merged == stored else merged.model_dump_json(indent=1).encode()

    store.update(key, merge)
    return merged

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
from kepler_train.isolate.profile import (
    PROFILES,
    BackgroundProfile,
    merge_profiles,
    parse_profile,
    profile_name,
)
from kepler_train.isolate.removal import PredictPower
from kepler_train.machine.by_node import ANY_NODE
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


def read_known_background(folder: Path, spec: RunSpec) -> KnownBackground:
    """Return what was kept in a folder; a profile without a node type serves its own node only."""
    file, by_node = folder / PROFILE, folder / PROFILES_BY_NODE
    profiles: dict[str, BackgroundProfile] = {}
    if by_node.is_file():
        profiles = _BY_NODE.validate_json(by_node.read_bytes())
    elif file.is_file():
        profile = parse_profile(file.read_bytes(), file, spec.node_type)
        profiles = {ANY_NODE if spec.node_type else profile.node: profile}
    files = sorted((folder / MODELS).glob(f"*/*/*/{METADATA}"))
    models = {(file.parts[-4], file.parts[-3]): load_model(file.parent) for file in files}  # by group and source
    return KnownBackground(profiles, models)


def write_profiles(profiles: Mapping[str, BackgroundProfile], folder: Path) -> None:
    """Keep profiles by node in a folder, for `read_known_background`."""
    (folder / PROFILES_BY_NODE).write_bytes(_BY_NODE.dump_json(dict(profiles)))


def pass_on_profile(isolated: Path, folder: Path) -> None:
    """Copy the profile that isolation made of the run's own idle time, if it did."""
    if (isolated / PROFILE).is_file():
        shutil.copyfile(isolated / PROFILE, folder / PROFILE)


def promote_profile(content: bytes, store: FileStore, node_type: int) -> BackgroundProfile:
    """Merge the profile of a run into that of its node type in a workspace, and return the result."""
    key = f"{PROFILES}/{profile_name(node_type)}"
    fresh = merged = parse_profile(content, "The run's own profile", node_type)

    def merge(before: bytes | None) -> bytes | None:
        nonlocal merged
        stored = parse_profile(before, f"{store.uri}/{key}", node_type) if before is not None else None
        merged = merge_profiles(stored, fresh)
        return None if merged == stored else merged.model_dump_json(indent=1).encode()

    store.update(key, merge)
    return merged

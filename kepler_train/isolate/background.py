"""What is known of the background before the data are looked at: profiles of idle machines, AbsPower models.

A run keeps both with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.isolate.containers import Floats
from kepler_train.isolate.profile import PROFILES, Background, parse_background, profile_name, renewed
from kepler_train.isolate.removal import Predict
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.models import PowerModel, load_model
from kepler_train.models.files import METADATA
from kepler_train.spec import RunSpec
from kepler_train.workspace import Store

PROFILE, MODELS = "profile.json", "abs_models"


@dataclass(frozen=True)
class Known:
    """Profiles by node (`ANY_NODE` for all), and AbsPower models by feature group and energy source."""

    profiles: Mapping[str, Background] = field(default_factory=dict)
    models: Mapping[tuple[str, str], PowerModel] = field(default_factory=dict)

    def columns(self, group: str) -> set[str]:
        """The power columns that the models of a group predict."""
        return {
            f"{source}/{component}_power"
            for (of_group, source), model in self.models.items()
            if of_group == group
            for component in model.components
        }

    def predict(self, group: str) -> Predict:
        """What the models of a group say about features, in the columns of the frames."""

        def predicted(usage: pd.DataFrame) -> dict[str, Floats]:
            return {
                f"{source}/{component}_power": np.asarray(watts)
                for (of_group, source), model in self.models.items()
                if of_group == group
                for component, watts in model.predict(usage).items()
            }

        return predicted


NOTHING_KNOWN = Known()


def read_known(folder: Path, spec: RunSpec) -> Known:
    """What was kept in a folder; a profile without a node type serves the node that it is of, and no other."""
    file = folder / PROFILE
    profiles = {}
    if file.is_file():
        found = parse_background(file.read_bytes(), file, spec.node_type)
        profiles = {ANY_NODE if spec.node_type else found.node: found}
    return Known(profiles, read_models(folder / MODELS))


def pass_on_profile(isolated: Path, folder: Path) -> None:
    """Copy the profile that isolation made of the run's own idle time, if it did."""
    if (isolated / PROFILE).is_file():
        shutil.copyfile(isolated / PROFILE, folder / PROFILE)


def promote_profile(content: bytes, store: Store, node_type: int) -> Background:
    """Let the profile of a run be that of its node type in a workspace, unless a later one is there; answer what is."""
    key = f"{PROFILES}/{profile_name(node_type)}"
    fresh = kept = parse_background(content, "The run's own profile", node_type)

    def change(before: bytes | None) -> bytes | None:
        nonlocal kept
        stored = parse_background(before, f"{store.uri}/{key}", node_type) if before is not None else None
        kept = renewed(stored, fresh)
        return None if kept == stored else kept.model_dump_json(indent=1).encode()

    store.update(key, change)
    return kept


def read_models(folder: Path) -> dict[tuple[str, str], PowerModel]:
    """The models that were kept, by feature group and source."""
    return {
        (file.parts[-4], file.parts[-3]): load_model(file.parent) for file in sorted(folder.glob(f"*/*/*/{METADATA}"))
    }

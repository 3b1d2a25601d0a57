"""Find what the commands know of the background: a profile by name, an idle query, models below MODEL_PATH."""

from __future__ import annotations

from pathlib import Path

from kepler_train.cli.files import data_path, model_path, named, query_samples, scratch
from kepler_train.errors import UserError
from kepler_train.isolate.background import MODELS, write_profiles
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.profile import (
    BackgroundProfile,
    parse_profile,
    profile_name,
    profile_number,
    read_profile,
)
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.plan.background import keep_models, keep_profiles
from kepler_train.runs.tables import extracted, idle_profiles
from kepler_train.runs.temporary import Write
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace.folder import FolderStore

# A profile says its node type first; a query begins with the name of a metric.
_FIRST_KEY, _LOOKED_AT = b'"node_type"', 100


def keep_background(spec: RunSpec, profile: str) -> Write:
    """Return what keeps in a plan all that the isolator of the spec needs.

    Without a name the profile is that of the node type below DATAPATH.
    """

    def keep(folder: Path) -> None:
        if "DynPower" not in spec.output_types:
            return
        if profile and spec.isolator not in MAY_USE_PROFILE:
            raise UserError(f"The isolator {spec.isolator} uses no profile: leave out --profile, or --isolator.")
        if spec.isolator == "trainer":
            keep_models(spec, str(model_path("")), folder / MODELS)
        elif spec.isolator in MAY_USE_PROFILE:
            if profile:
                write_profiles(_named_profiles(profile, spec), folder)
            else:
                keep_profiles(spec, FolderStore(data_path("")), folder)

    return keep


def _named_profiles(name: str, spec: RunSpec) -> dict[str, BackgroundProfile]:
    """Return the profiles of a file, of a folder of them, or of an idle query."""
    folder = data_path(name)
    if folder.is_dir() and (stored := sorted(folder.glob("node_type_*.json"))):
        number = spec.node_type if spec.node_type is not None else _only_number(folder, stored)
        profile = read_profile(folder, number)
        if profile is None:
            missing = profile_name(number)
            raise UserError(f"{folder} has no profile of node type {number}: {missing} is not there.")
        return {ANY_NODE: profile}
    for file in (folder, named(name, ".json")):
        if file.is_file() and _is_profile(file):
            return {ANY_NODE: parse_profile(file.read_bytes(), file, spec.node_type)}
    with query_samples(name) as samples, scratch() as work:
        idle = spec.model_copy(update={"node_type": spec.node_type or 0})  # isolation gives it that of the machine
        return idle_profiles(extracted(work, idle, samples, Schedule()))


def _only_number(folder: Path, profiles: list[Path]) -> int:
    """Return the node type of the one profile of a folder; refuse a choice among several."""
    numbers = [number for file in profiles if (number := profile_number(file.name)) is not None]
    if len(numbers) != 1:
        raise UserError(f"{folder} has profiles of {len(numbers)} node types: name the one file that is meant.")
    return numbers[0]


def _is_profile(file: Path) -> bool:
    with file.open("rb") as content:
        return _FIRST_KEY in content.read(_LOOKED_AT)

"""Find what the commands know of the background: a profile by name, an idle query, models below MODEL_PATH."""

from __future__ import annotations

from pathlib import Path

from kepler_train.cli.files import data_path, model_path, named, query_samples, scratch
from kepler_train.errors import UserError
from kepler_train.isolate.background import MODELS, write_profiles
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.profile import (
    PROFILES,
    BackgroundProfile,
    parse_profile,
    profile_file,
    profile_name,
    read_profile,
)
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.plan.background import keep_models
from kepler_train.runs.tables import extracted, idle_profiles
from kepler_train.runs.temporary import Write
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

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
            write_profiles(_named_profiles(profile, spec) if profile else _stored_profile(spec), folder)

    return keep


def _stored_profile(spec: RunSpec) -> dict[str, BackgroundProfile]:
    stored = read_profile(data_path(PROFILES), spec.node_type)
    return {ANY_NODE: stored} if stored else {}


def _named_profiles(name: str, spec: RunSpec) -> dict[str, BackgroundProfile]:
    """Return the profiles of a file, of a folder of them, or of an idle query."""
    folder = data_path(name)
    if folder.is_dir() and any(folder.glob("node_type_*.json")):
        stored = read_profile(folder, spec.node_type)
        if stored is None:
            missing = profile_name(spec.node_type)
            raise UserError(f"{folder} has no profile of node type {spec.node_type}: {missing} is not there.")
        return {ANY_NODE: stored}
    for file in (folder, named(name, ".json"), profile_file(folder, spec.node_type)):
        if file.is_file() and _is_profile(file):
            return {ANY_NODE: parse_profile(file.read_bytes(), file, spec.node_type)}
    with query_samples(name) as samples, scratch() as work:
        return idle_profiles(extracted(work, spec, samples, Schedule()))


def _is_profile(file: Path) -> bool:
    with file.open("rb") as content:
        return _FIRST_KEY in content.read(_LOOKED_AT)

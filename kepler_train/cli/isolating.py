"""What the commands know of the background: a profile by name, an idle query, models below MODEL_PATH."""

from __future__ import annotations

from pathlib import Path

from kepler_train.cli.files import data_path, model_path, named, query_samples
from kepler_train.errors import UserError
from kepler_train.isolate.background import KnownBackground, read_models
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
from kepler_train.runs.pipeline import idle_profiles
from kepler_train.spec import RunSpec

# A profile says its node type first; a query begins with the name of a metric.
_FIRST_KEY, _LOOKED_AT = b'"node_type"', 100


def known_background(spec: RunSpec, profile: str, scratch: Path) -> KnownBackground:
    """What the isolator of the spec needs; without a name, the profile of the node type below DATAPATH."""
    if "DynPower" not in spec.output_types:
        return KnownBackground()
    if profile and spec.isolator not in MAY_USE_PROFILE:
        raise UserError(f"The isolator {spec.isolator} uses no profile: leave out --profile, or --isolator.")
    scratch.mkdir()
    if spec.isolator == "trainer":
        keep_models(spec, str(model_path("")), scratch)
        return KnownBackground(models=read_models(scratch))
    if spec.isolator not in MAY_USE_PROFILE:
        return KnownBackground()
    if profile:
        return KnownBackground(profiles=_named_profiles(profile, spec, scratch))
    stored = read_profile(data_path(PROFILES), spec.node_type)
    return KnownBackground(profiles={ANY_NODE: stored} if stored else {})


def _named_profiles(name: str, spec: RunSpec, scratch: Path) -> dict[str, BackgroundProfile]:
    """A profile file, a folder of them, or the profiles that an idle query gives."""
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
    with query_samples(name) as samples:
        return idle_profiles(samples, spec, scratch)


def _is_profile(file: Path) -> bool:
    with file.open("rb") as content:
        return _FIRST_KEY in content.read(_LOOKED_AT)

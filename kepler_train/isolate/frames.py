"""Isolate frames: the background's power out of node power, and the rest shared among containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kepler_train.columns import power_columns
from kepler_train.errors import DataError, UserError
from kepler_train.events import say, warn
from kepler_train.extract.columns import columns_of_group
from kepler_train.extract.frame_files import container_files, read_node_rows
from kepler_train.isolate.attribution import check_rule
from kepler_train.isolate.background import PROFILE, Known
from kepler_train.isolate.choice import Choice, choose, scheduled_profiles
from kepler_train.isolate.clipping import Removed
from kepler_train.isolate.containers import container_names
from kepler_train.isolate.hints import Hints
from kepler_train.isolate.isolation import isolate_containers
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.outcome import ISOLATION, Isolation, outcome_of
from kepler_train.isolate.preprocessed import write_preprocessed_data
from kepler_train.isolate.profile import Background
from kepler_train.isolate.removal import Removal, RemoveConstant, RemovePredicted, RemoveProfile
from kepler_train.machine.by_node import common_machine, read_machines
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures


def isolate_frames(
    extracted: Path, spec: RunSpec, known: Known, out: Path, features_of: Mapping[str, list[str]] | None = None
) -> Figures:
    """Write node rows with dynamic power and container rows with their shares of it, by feature group.

    `features_of` names the features of each group where they are not those that the catalog says.
    """
    figures = _isolate_rows(extracted, spec, known, out, features_of)
    if spec.preprocessed_csv:
        write_preprocessed_data(read_node_rows(extracted), out, spec)
    return figures


def _isolate_rows(
    extracted: Path, spec: RunSpec, known: Known, out: Path, features_of: Mapping[str, list[str]] | None
) -> Figures:
    if "DynPower" not in spec.output_types:
        say("isolate: the run has no DynPower, which alone needs dynamic power.")
        return _write(Isolation(asked=spec.isolator, isolator="none", why="no DynPower", attribution=""), out)
    check_rule(spec.attribution)
    node, containers = _of_the_asked_nodes(read_node_rows(extracted), spec), container_files(extracted)
    groups = features_of or {
        group: columns_of_group(node, group, spec.thirdparty_metrics) for group in spec.feature_groups
    }
    features = sorted({name for own in groups.values() for name in own})
    kinds = read_machines(extracted)
    machines = {str(name): common_machine(kinds, [str(name)]) for name in node["node"].unique()}
    own: dict[str, Background] = {}
    if spec.isolator in MAY_USE_PROFILE:
        own = scheduled_profiles(node, containers, spec.node_type, machines)
    _keep_profile(own, out)
    chosen = choose(spec.isolator, node, features, known.profiles, own, spec.node_type, machines)
    say(f"isolate: {chosen.isolator}, because {chosen.why}")
    removal = _removal(chosen, node, containers, spec, known)
    found = isolate_containers(node, containers, groups, removal, spec.attribution, out)
    outcome = Isolation(
        asked=spec.isolator,
        isolator=chosen.isolator,
        why=chosen.why,
        attribution=spec.attribution,
        groups={group: outcome_of(one) for group, one in found.items()},
    )
    _tell(outcome)
    return _write(outcome, out) | {"rows": len(node)}


def _keep_profile(own: Mapping[str, Background], out: Path) -> None:
    """Keep the profile of the run's own idle time, of several nodes the longest: `publish` promotes it."""
    if own:
        longest = max(own.values(), key=lambda one: one.rows * one.window_seconds)
        (out / PROFILE).write_text(longest.model_dump_json(indent=1), encoding="utf-8")


def _of_the_asked_nodes(node: pd.DataFrame, spec: RunSpec) -> pd.DataFrame:
    own = node[node["node"].isin(spec.nodes)].reset_index(drop=True) if spec.nodes else node
    if own.empty:
        raise DataError(f"The data have no rows of {', '.join(spec.nodes) or 'any node'}: there is nothing to isolate.")
    return own


def _removal(chosen: Choice, node: pd.DataFrame, containers: Sequence[Path], spec: RunSpec, known: Known) -> Removal:
    if chosen.isolator == "profile":
        return RemoveProfile(node, chosen.profiles)
    if chosen.isolator == "trainer":
        hints = Hints(spec.target_hints, spec.bg_hints)
        hints.check(container_names(containers))
        _check_models(node, spec, known)
        return RemovePredicted(node, hints, {group: known.predict(group) for group in spec.feature_groups})
    return RemoveConstant(node, chosen.isolator)


def _check_models(node: pd.DataFrame, spec: RunSpec, known: Known) -> None:
    """Refuse models that leave a power column without its background."""
    for group in spec.feature_groups:
        missing = set(power_columns(node)) - known.columns(group)
        if missing:
            raise UserError(
                f"The AbsPower models of {spec.abs_pipeline} on {group} predict no"
                f" {', '.join(sorted(name.removesuffix('_power') for name in missing))}, which the data have:"
                " name another pipeline in abs_pipeline."
            )


def _tell(outcome: Isolation) -> None:
    """Say what was removed; isolators that do not look at features remove the same in every group."""
    told: list[Mapping[str, Mapping[str, Removed]]] = []
    for group, one in outcome.groups.items():
        if one.removed not in told:
            told.append(one.removed)
            of_group = f" for {group}" if outcome.isolator == "trainer" else ""
            for node, columns in one.removed.items():
                removed = ", ".join(
                    f"{name.removesuffix('_power')} {lost.watts:.2f} W" for name, lost in columns.items()
                )
                say(f"isolate: {outcome.isolator} removes from {node}{of_group}: {removed}")
    for text in outcome.warnings():
        warn(text)


def _write(outcome: Isolation, out: Path) -> Figures:
    (out / ISOLATION).write_text(outcome.model_dump_json(indent=1), encoding="utf-8")
    return {
        "isolator": outcome.isolator,
        "attribution": outcome.attribution,
        "clipped": outcome.clipped(),
        "unattributed_share": round(outcome.unattributed_share(), 6),
        "warnings": outcome.warnings(),
    }

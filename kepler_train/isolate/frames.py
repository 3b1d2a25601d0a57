"""Isolate the frames of an extraction: choose the isolator, remove the background, share the rest, and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kepler_train.columns import NODE, meter_of, power_columns
from kepler_train.errors import DataError, UserError
from kepler_train.events import say, warn
from kepler_train.extract.feature_groups import columns_of_group
from kepler_train.extract.frame_files import CONTAINERS_FILE, read_node_rows
from kepler_train.isolate.background import PROFILE, KnownBackground
from kepler_train.isolate.clipping import Removed
from kepler_train.isolate.containers import container_names
from kepler_train.isolate.hints import Hints
from kepler_train.isolate.isolation import isolate_containers
from kepler_train.isolate.isolator_choice import Choice, choose
from kepler_train.isolate.isolators import MAY_USE_PROFILE
from kepler_train.isolate.outcome import ISOLATION, Isolation, outcome_of
from kepler_train.isolate.preprocessed import write_preprocessed_data
from kepler_train.isolate.profile import BackgroundProfile
from kepler_train.isolate.profiling import scheduled_profiles
from kepler_train.isolate.removal import Removal, remove_constant, remove_predicted, remove_profile
from kepler_train.machine.by_node import common_machine, read_machines
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, files_of


def isolate_frames(
    extracted: Path, spec: RunSpec, known: KnownBackground, out: Path, features: Mapping[str, list[str]] | None = None
) -> Figures:
    """Write node rows with dynamic power and container rows with their shares of it, by feature group.

    `features` names the features of each group where they are not those of the catalog.
    """
    figures = _isolate_rows(extracted, spec, known, out, features)
    if spec.preprocessed_csv:
        write_preprocessed_data(read_node_rows(extracted), out, spec)
    return figures


def _isolate_rows(
    extracted: Path, spec: RunSpec, known: KnownBackground, out: Path, features: Mapping[str, list[str]] | None
) -> Figures:
    if "DynPower" not in spec.output_types:
        say("isolate: the run has no DynPower, which alone needs dynamic power.")
        return _write(Isolation(asked=spec.isolator, isolator="none", why="no DynPower", attribution=""), out)
    node, containers = _requested_rows(read_node_rows(extracted), spec), files_of(extracted, CONTAINERS_FILE)
    groups = features or {
        group: columns_of_group(node, group, spec.thirdparty_metrics) for group in spec.feature_groups
    }
    choice = _choose(extracted, node, containers, sorted(set().union(*groups.values())), spec, known, out)
    say(f"isolate: {choice.isolator}, because {choice.why}")
    removal = _removal(choice, node, containers, spec, known)
    isolated = isolate_containers(node, containers, groups, removal, spec.attribution, out)
    outcome = Isolation(
        asked=spec.isolator,
        isolator=choice.isolator,
        why=choice.why,
        attribution=spec.attribution,
        groups={group: outcome_of(rows) for group, rows in isolated.items()},
    )
    _report(outcome)
    return _write(outcome, out) | {"rows": len(node)}


def _requested_rows(node: pd.DataFrame, spec: RunSpec) -> pd.DataFrame:
    rows = node[node[NODE].isin(spec.nodes)].reset_index(drop=True) if spec.nodes else node
    if rows.empty:
        raise DataError(f"The data have no rows of {', '.join(spec.nodes) or 'any node'}: there is nothing to isolate.")
    return rows


def _choose(
    extracted: Path,
    node: pd.DataFrame,
    containers: Sequence[Path],
    features: list[str],
    spec: RunSpec,
    known: KnownBackground,
    out: Path,
) -> Choice:
    """Return the isolator; keep the profile of the run's own idle time, of several nodes the longest, for `publish`."""
    machine_specs = read_machines(extracted)
    machines = {str(name): common_machine(machine_specs, [str(name)]) for name in node[NODE].unique()}
    scheduled: dict[str, BackgroundProfile] = {}
    if spec.isolator in MAY_USE_PROFILE:
        scheduled = scheduled_profiles(node, containers, spec.settled_node_type, machines)
    if scheduled:
        longest = max(scheduled.values(), key=lambda profile: profile.seconds)
        (out / PROFILE).write_text(longest.model_dump_json(indent=1), encoding="utf-8")
    return choose(spec.isolator, node, features, known.profiles, scheduled, spec.settled_node_type, machines)


def _removal(
    choice: Choice, node: pd.DataFrame, containers: Sequence[Path], spec: RunSpec, known: KnownBackground
) -> Removal:
    if choice.isolator == "profile":
        return remove_profile(node, choice.profiles)
    if choice.isolator == "trainer":
        hints = Hints(spec.target_hints, spec.bg_hints)
        hints.check(container_names(containers))
        _check_models(node, spec, known)
        return remove_predicted(node, hints, {group: known.predict(group) for group in spec.feature_groups})
    return remove_constant(node, choice.isolator)


def _check_models(node: pd.DataFrame, spec: RunSpec, known: KnownBackground) -> None:
    """Refuse models that leave a power column without its background."""
    for group in spec.feature_groups:
        missing = set(power_columns(node)) - known.columns(group)
        if missing:
            raise UserError(
                f"The AbsPower models of {spec.abs_pipeline} on {group} predict no"
                f" {', '.join(sorted(map(meter_of, missing)))}, which the data have:"
                " name another pipeline in abs_pipeline."
            )


def _report(outcome: Isolation) -> None:
    """Log what was removed, once where isolators that do not look at features remove the same in every group."""
    reported: list[Mapping[str, Mapping[str, Removed]]] = []
    for group, figures in outcome.groups.items():
        if figures.removed in reported:
            continue
        reported.append(figures.removed)
        of_group = f" for {group}" if outcome.isolator == "trainer" else ""
        for node, columns in figures.removed.items():
            removed = ", ".join(f"{meter_of(name)} {loss.watts:.2f} W" for name, loss in columns.items())
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

"""`kepler-train plot` and `kepler-train profile`: what was collected, and what the machine needs when it is idle."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import data_path, query_samples, scratch, whole_file
from kepler_train.errors import UserError
from kepler_train.events import say

if TYPE_CHECKING:
    import pandas as pd

    from kepler_train.spec import RunSpec


class Target(StrEnum):
    """What a plot shows."""

    PREPROCESS = "preprocess"


_PICTURES = (".png", ".svg", ".pdf")


def plot(
    query_name: o.Input = "kepler_query",
    output: Annotated[str, typer.Option("-o", "--output", help="Picture below DATAPATH: .png, .svg or .pdf.")] = "plot",
    target: Annotated[
        Target, typer.Option("--target-data", help="preprocess: power and load over time.")
    ] = Target.PREPROCESS,
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    metric_prefix: o.Prefix = "",
    schedule: o.ScheduleFile = "",
) -> None:
    """Draw power and load of every node over time, with the phases of the schedule."""
    from kepler_train.export.timeline import plot_timeline
    from kepler_train.steps.pipeline import node_and_containers

    place = data_path(output)
    place = place if place.suffix else place.with_name(f"{place.name}.png")
    if place.suffix not in _PICTURES:
        raise UserError(f"{place} cannot be drawn: choose a name that ends in {', '.join(_PICTURES)}.")
    phases = o.schedule_of(schedule)
    with query_samples(query_name) as samples, scratch() as work:
        spec = _spec(samples, energy_source, feature_group, metric_prefix)
        node, _ = node_and_containers(samples, spec, phases, work)
        with whole_file(place) as file:
            plot_timeline(node, _main_feature(spec, node), phases, file)
    say(f"Wrote {place}: {len(node):,} windows of {node['node'].nunique()} node(s), {len(phases.phases)} phases.")


def profile(
    query_name: o.Input = "kepler_query",
    output: Annotated[str, typer.Option("-o", "--output", help="Folder of profiles, below DATAPATH.")] = "profiles",
    seconds: Annotated[float, typer.Option(min=1, help="Length of the idle time, at least.")] = 100,
    node_type: Annotated[int, typer.Option(min=0, help="Node type that the machine is of.")] = 0,
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    metric_prefix: o.Prefix = "",
    nodes: o.Nodes = "",
    schedule: o.ScheduleFile = "",
) -> None:
    """Measure what a machine needs when it is idle, and keep it for its node type.

    Idle is what the schedule calls so; without a schedule, the quietest stretch of the window. Without --feature-group
    the profile serves every group that the query has.
    """
    from kepler_train.isolate.profile import background, profile_file
    from kepler_train.steps.pipeline import node_and_containers, only_node

    phases = o.schedule_of(schedule)
    with query_samples(query_name) as samples, scratch() as work:
        spec = _spec(samples, energy_source, feature_group, metric_prefix)
        asked = spec if feature_group else _complete_groups(samples, spec)
        frames = node_and_containers(samples, asked, phases, work)
        node, containers = only_node(*frames, o.spec_of(nodes=nodes).nodes)
        found = background(node, containers, _main_feature(spec, node), seconds, node_type, phases.machine)
    place = profile_file(data_path(output), node_type)
    with whole_file(place) as file:
        file.write_text(found.model_dump_json(indent=1), encoding="utf-8")
    how = "as the schedule says" if found.chosen == "schedule" else "the quietest stretch"
    say(
        f"Idle between {found.start:%Y-%m-%d %H:%M:%S} and {found.end:%H:%M:%S} UTC, {how}:"
        f" {found.rows} windows of {found.window_seconds:g} s."
    )
    for name, power in found.power.items():
        column = name.removesuffix("_power")
        say(f"  {column}: {power.mean:.2f} W, median {power.median:.2f} W, deviation {power.deviation:.2f} W")
    say(f"Wrote {place}: node type {node_type}, {len(found.containers)} containers in the background.")


def _spec(samples: Path, energy_source: str, feature_group: str, metric_prefix: str) -> RunSpec:
    """The spec of the options; the group that is not named is the first that its Kepler is known for."""
    from kepler_train.catalog import catalog
    from kepler_train.collect.verdict import find_collected_dialect

    asked = o.spec_of(energy_sources=energy_source, metric_prefix=metric_prefix)
    group = feature_group or catalog().dialect(find_collected_dialect(asked, samples)).default_group
    return o.spec_of(
        energy_sources=energy_source, metric_prefix=metric_prefix, feature_groups=group, output_types=["AbsPower"]
    )


def _complete_groups(samples: Path, spec: RunSpec) -> RunSpec:
    """The spec with every feature group that the query has whole."""
    from kepler_train.collect.verdict import verdict
    from kepler_train.collect.wanted import every_group

    groups = verdict(spec.model_copy(update={"feature_groups": every_group(())}), samples)["groups"]
    complete = [name for name, group in groups.items() if group["valid"]]
    return spec.model_copy(update={"feature_groups": complete or spec.feature_groups})


def _main_feature(spec: RunSpec, node: pd.DataFrame) -> str:
    """The feature that stands for the load: the main one of the group, or the first where it has no data."""
    from kepler_train.catalog import catalog
    from kepler_train.extract.columns import columns_of_group

    there = columns_of_group(node, spec.feature_groups[0], spec.thirdparty_metrics)
    main = catalog().group(spec.feature_groups[0]).main
    return main if main in there else there[0]

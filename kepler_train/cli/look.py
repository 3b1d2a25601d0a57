"""`kepler-train plot` and `kepler-train profile`: what was collected, and what the machine needs when it is idle."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import data_path, frame_file, model_path, query_samples, scratch, whole_file
from kepler_train.cli.parameters import given, takes
from kepler_train.columns import NODE, meter_of
from kepler_train.errors import UserError
from kepler_train.events import say

if TYPE_CHECKING:
    import pandas as pd

    from kepler_train.spec import RunSpec


class Target(StrEnum):
    """What a plot shows."""

    PREPROCESS = "preprocess"
    ERROR = "error"
    ESTIMATE = "estimate"
    CURVE = "curve"
    RESIDUALS = "residuals"


_PICTURES = (".png", ".svg", ".pdf")


@takes("energy_sources", "metric_prefix", "machine_id", "schedule", feature_groups="", pipeline="")
def plot(
    context: typer.Context,
    data: Annotated[
        str, typer.Option("-i", "--input", "--data", help="A query, or a frame (.csv or .parquet), below DATAPATH.")
    ] = "kepler_query",
    output: Annotated[str, typer.Option("-o", "--output", help="Picture below DATAPATH: .png, .svg or .pdf.")] = "plot",
    target: Annotated[
        Target,
        typer.Option(
            "--target-data",
            help="preprocess: power and load over time; estimate: what --model says, over time; curve: the same"
            " against the load; residuals: what it is off by, by workload; error: held-out error of all models of"
            " --pipeline-name.",
        ),
    ] = Target.PREPROCESS,
    model: Annotated[str, typer.Option("-m", "--model", help="The model: its folder or .zip.")] = "",
) -> None:
    """Draw what was collected, or what models say about it."""
    place = data_path(output)
    place = place if place.suffix else place.with_name(f"{place.name}.png")
    if place.suffix not in _PICTURES:
        raise UserError(f"{place} cannot be drawn: choose a name that ends in {', '.join(_PICTURES)}.")
    options = given(context)
    pipeline = options.pop("pipeline")
    if target is Target.PREPROCESS:
        _plot_rows(data, place, options)
    elif target is Target.ERROR:
        _plot_errors(pipeline, place)
    else:
        _plot_estimates(target, model, data, place, options)


def _plot_rows(data: str, place: Path, options: Mapping[str, Any]) -> None:
    """Draw power and load of every node over time, with the phases of the schedule."""
    from kepler_train.export.pictures.timeline import draw_timeline
    from kepler_train.extract.user_frame import read_user_frame
    from kepler_train.runs.tables import extracted, node_rows

    phases = o.schedule_of(options["schedule"])
    if frame := frame_file(data, or_query=True):
        source = o.source_in_frame(options["energy_sources"])
        spec = o.spec_of(options, energy_sources=source, output_types=["AbsPower"])
        rows = read_user_frame(frame, spec.energy_sources[0], spec.machine_id)
        node = rows.summed()
        load = _main_feature(spec, node) if options["feature_groups"] else rows.features[0]
    else:
        with query_samples(data) as samples, scratch() as work:
            spec = _spec(samples, options)
            node = node_rows(extracted(work, spec, samples, phases))
            load = _main_feature(spec, node)
    with whole_file(place) as file:
        draw_timeline(node, load, phases, file)
    say(f"Wrote {place}: {len(node):,} windows of {node[NODE].nunique()} node(s), {len(phases.phases)} phases.")


def _plot_errors(pipeline: str, place: Path) -> None:
    """Draw the held-out error of every model of a pipeline, under every protocol."""
    from kepler_train.export.database import held_out_errors
    from kepler_train.export.pictures.errors import draw_errors

    if not pipeline:
        raise UserError("Name the pipeline whose errors to draw with --pipeline-name.")
    errors = held_out_errors(model_path(pipeline))
    with whole_file(place) as file:
        draw_errors(errors, file)
    say(f"Wrote {place}: the errors of {errors['model'].nunique()} models of {pipeline}.")


def _plot_estimates(target: Target, model: str, data: str, place: Path, options: Mapping[str, Any]) -> None:
    """Draw what one model predicts for rows: over time, against the load, or less what was measured."""
    from kepler_train.cli.estimate import model_of, rows_for, warn_of_rows_trained_on
    from kepler_train.estimate.estimates import by_workload, estimates, loads_of, of_nodes, rows_trained_on
    from kepler_train.export.pictures.estimate import draw_estimate
    from kepler_train.export.pictures.power_curve import draw_power_curve
    from kepler_train.export.pictures.residuals import draw_residuals

    if not model:
        raise UserError(f"Name the model to draw with --model: {target} shows what one model says.")
    learnt, metadata = model_of(model)
    taken = {name: options[name] for name in ("machine_id", "schedule", "metric_prefix")}
    with rows_for(metadata, data, taken) as estimable:
        rows = estimable.together()
    found = estimates(learnt, metadata, rows)
    title = f"{learnt.name}: {metadata.output_type} of {metadata.energy_source}, {metadata.feature_group}"
    if target is Target.RESIDUALS and found["measured"].isna().any():
        raise UserError(f"{data} has no measured power to compare with: choose --target-data estimate or curve.")
    known = rows_trained_on(metadata, rows) if found["measured"].notna().any() else 0
    warn_of_rows_trained_on(learnt, metadata, known, len(rows))
    with whole_file(place) as file:
        if target is Target.ESTIMATE:
            draw_estimate(of_nodes(found), title, file)
        elif target is Target.CURVE:
            draw_power_curve(found, loads_of(metadata, rows), title, file)
        else:
            draw_residuals(by_workload(found), title, file)
    say(f"Wrote {place}: {len(rows):,} rows, {found['component'].nunique()} components.")


@takes("energy_sources", "metric_prefix", "nodes", "schedule", feature_groups="", node_type=0)
def profile(
    context: typer.Context,
    query_name: o.Input = "kepler_query",
    output: Annotated[str, typer.Option("-o", "--output", help="Folder of profiles, below DATAPATH.")] = "profiles",
    seconds: Annotated[float, typer.Option(min=1, help="Length of the idle time, at least.")] = 100,
) -> None:
    """Measure what a machine needs when it is idle, and keep it for its node type.

    Idle is what the schedule calls so; without a schedule, the quietest stretch of the window. Without --feature-group
    the profile serves every group that the query has.
    """
    from kepler_train.isolate.profile import profile_file
    from kepler_train.isolate.profiling import profile_node
    from kepler_train.runs.tables import extracted, rows_of_one_node

    options = given(context)
    nodes, node_type = o.spec_of({"nodes": options.pop("nodes")}).nodes, options.pop("node_type")
    phases = o.schedule_of(options["schedule"])
    with query_samples(query_name) as samples, scratch() as work:
        spec = _spec(samples, options)
        serving = spec if options["feature_groups"] else _complete_groups(samples, spec)
        node, containers = rows_of_one_node(extracted(work, serving, samples, phases), nodes)
        found = profile_node(node, containers, _main_feature(spec, node), seconds, node_type, phases.machine)
    place = profile_file(data_path(output), node_type)
    with whole_file(place) as file:
        file.write_text(found.model_dump_json(indent=1), encoding="utf-8")
    how = "as the schedule says" if found.chosen == "schedule" else "the quietest stretch"
    say(
        f"Idle between {found.start:%Y-%m-%d %H:%M:%S} and {found.end:%H:%M:%S} UTC, {how}:"
        f" {found.rows} windows of {found.window_seconds:g} s."
    )
    for name, power in found.power.items():
        column = meter_of(name)
        say(f"  {column}: {power.mean:.2f} W, median {power.median:.2f} W, deviation {power.deviation:.2f} W")
    say(f"Wrote {place}: node type {node_type}, {len(found.containers)} containers in the background.")


def _spec(samples: Path, options: Mapping[str, Any]) -> RunSpec:
    """Return the spec of the options; a group that is not named is the first that its Kepler is known for."""
    from kepler_train.catalog import catalog
    from kepler_train.validate.verdict import find_collected_dialect

    group = options["feature_groups"]
    if not group:
        group = catalog().dialect(find_collected_dialect(o.spec_of(options), samples)).default_group
    return o.spec_of(options, feature_groups=group, output_types=["AbsPower"])


def _complete_groups(samples: Path, spec: RunSpec) -> RunSpec:
    """Return the spec with every feature group that the query has whole."""
    from kepler_train.samples.metrics import every_group
    from kepler_train.validate.verdict import verdict

    groups = verdict(spec.model_copy(update={"feature_groups": every_group(())}), samples).groups
    complete = [name for name, group in groups.items() if group.valid]
    return spec.model_copy(update={"feature_groups": complete or spec.feature_groups})


def _main_feature(spec: RunSpec, node: pd.DataFrame) -> str:
    """Return the feature that stands for the load: the main one of the group, or the first where it has no data."""
    from kepler_train.catalog import catalog
    from kepler_train.extract.feature_groups import columns_of_group

    columns = columns_of_group(node, spec.feature_groups[0], spec.thirdparty_metrics)
    main = catalog().group(spec.feature_groups[0]).main
    return main if main in columns else columns[0]

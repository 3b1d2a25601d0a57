"""The everyday commands: the same work as the steps of a run, on files of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import (
    data_path,
    model_path,
    named,
    query_samples,
    scratch,
    table_path,
    whole_file,
    whole_folder,
)
from kepler_train.errors import DataError, UserError
from kepler_train.events import say

if TYPE_CHECKING:
    import pandas as pd

    from kepler_train.spec import RunSpec


def validate(
    query_name: o.Input = "kepler_query",
    output: Annotated[str, typer.Option("-o", "--output", help="JSON file of the verdict.")] = "",
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    thirdparty_metrics: o.ThirdParty = "",
    metric_prefix: o.Prefix = "",
    vm_train: o.VmTrain = False,
    nodes: o.Nodes = "",
    schedule: o.ScheduleFile = "",
) -> None:
    """Say what a query holds, what is wrong with it, and which feature groups are complete.

    Without --feature-group and --energy-source all are looked at, and one that is complete will do.
    """
    from kepler_train.catalog import catalog
    from kepler_train.samples.metrics import every_group
    from kepler_train.validate.judging import judge_samples
    from kepler_train.validate.verdict import check_verdict

    spec = o.spec_of(
        output_types=["AbsPower"],
        energy_sources=energy_source or list(catalog().energy_sources),
        feature_groups=feature_group or every_group(thirdparty_metrics),
        thirdparty_metrics=thirdparty_metrics,
        metric_prefix=metric_prefix,
        vm_train=vm_train,
        nodes=nodes,
    )
    phases = o.schedule_of(schedule)
    with query_samples(query_name) as samples:
        found = judge_samples(samples, spec, phases)
    if output:
        # Also of samples that cannot serve: the verdict says why.
        with whole_file(named(output, ".json")) as file:
            found.write(file)
        say(f"Wrote {named(output, '.json')}.")
    check_verdict(spec, found, every_group=bool(feature_group), to_train=True)


def extract(
    query_name: o.Input = "kepler_query",
    output: o.Output = "extracted",
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    output_type: o.OutputType = "AbsPower",
    extractor: o.Extractor = "",
    thirdparty_metrics: o.ThirdParty = "",
    metric_prefix: o.Prefix = "",
    vm_train: o.VmTrain = False,
    schedule: o.ScheduleFile = "",
    preprocessed: o.Preprocessed = False,
) -> None:
    """Turn the counters of a query into rates and watts: a table, .parquet or .csv.

    AbsPower has a row per window and node; DynPower one per window and container, with the power of its node.
    """
    from kepler_train.runs.pipeline import about_table, extract_table

    spec = o.spec_of(
        energy_sources=energy_source,
        feature_groups=feature_group,
        output_types=output_type,
        extractor=extractor,
        thirdparty_metrics=thirdparty_metrics,
        metric_prefix=metric_prefix,
        vm_train=vm_train,
    )
    o.only_one(spec)
    o.check_methods(spec)
    phases = o.schedule_of(schedule)
    with query_samples(query_name) as samples, scratch() as work:
        table = extract_table(samples, spec, phases, work)
        _write_table(table, output, preprocessed, spec, about_table(work))


def isolate(
    query_name: o.Input = "kepler_query",
    output: o.Output = "isolated",
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    output_type: o.OutputType = "DynPower",
    extractor: o.Extractor = "",
    isolator: o.Isolator = "",
    profile: o.Profile = "",
    abs_pipeline_name: o.AbsPipeline = "",
    target_hints: o.TargetHints = "",
    bg_hints: o.BgHints = "",
    attribution: o.Attribution = "",
    node_type: o.NodeType = 0,
    thirdparty_metrics: o.ThirdParty = "",
    metric_prefix: o.Prefix = "",
    vm_train: o.VmTrain = False,
    schedule: o.ScheduleFile = "",
    preprocessed: o.Preprocessed = False,
) -> None:
    """Remove the background's power and share the rest among containers: a table, .parquet or .csv."""
    from kepler_train.cli.isolating import known_background
    from kepler_train.runs.pipeline import about_table, isolate_table

    spec = o.spec_of(
        energy_sources=energy_source,
        feature_groups=feature_group,
        output_types=output_type,
        extractor=extractor,
        isolator=isolator,
        abs_pipeline=abs_pipeline_name,
        target_hints=target_hints,
        bg_hints=bg_hints,
        attribution=attribution,
        node_type=node_type,
        thirdparty_metrics=thirdparty_metrics,
        metric_prefix=metric_prefix,
        vm_train=vm_train,
    )
    o.only_one(spec)
    if spec.output_types != ["DynPower"]:
        raise UserError("AbsPower keeps its idle power: `kepler-train extract` has its rows.")
    o.check_methods(spec)
    phases = o.schedule_of(schedule)
    with query_samples(query_name) as samples, scratch() as work:
        known = known_background(spec, profile, work / "known")
        table = isolate_table(samples, spec, phases, known, work)
        _write_table(table, output, preprocessed, spec, about_table(work))


def _write_table(table: pd.DataFrame, output: str, preprocessed: bool, spec: RunSpec, about: dict[str, Any]) -> None:
    """Write the rows of the one feature group and source of a spec, and say so."""
    from kepler_train.extract.training_table import preprocessed_name, write_preprocessed, write_table

    place = table_path(output)
    if preprocessed:
        kind, isolator = spec.output_types[0], about.get("isolator", "none")
        name = preprocessed_name(kind, spec.extractor, isolator, spec.energy_sources[0], spec.feature_groups[0])
        place = data_path(output) / name
    with whole_file(place) as file:
        if preprocessed:
            write_preprocessed(table, file, spec.node_type)
        else:
            write_table(table, file, about)
    say(f"Wrote {place}: {len(table):,} rows, {', '.join(map(str, table.columns))}.")


def train(
    pipeline_name: o.Pipeline,
    query_name: o.Input = "kepler_query",
    machine_id: o.Machine = "",
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    output_type: o.OutputType = "",
    abs_trainers: Annotated[str, typer.Option(help="Trainers for AbsPower.")] = "",
    dyn_trainers: Annotated[str, typer.Option(help="Trainers for DynPower.")] = "",
    extractor: o.Extractor = "",
    isolator: o.Isolator = "",
    profile: o.Profile = "",
    abs_pipeline_name: o.AbsPipeline = "",
    target_hints: o.TargetHints = "",
    bg_hints: o.BgHints = "",
    attribution: o.Attribution = "",
    node_type: o.NodeType = 0,
    thirdparty_metrics: o.ThirdParty = "",
    metric_prefix: o.Prefix = "",
    vm_train: o.VmTrain = False,
    nodes: o.Nodes = "",
    schedule: o.ScheduleFile = "",
    preprocessed_data: Annotated[
        bool, typer.Option("--preprocessed-data", help="Keep the training rows too: preprocessed_data/*.csv.")
    ] = False,
    continue_from: o.ContinueFrom = "",
) -> None:
    """Train power models from a query, judge them, and keep those that pass in MODEL_PATH/<pipeline>."""
    from kepler_train.cli.isolating import known_background
    from kepler_train.export.database import is_pipeline
    from kepler_train.parts import models_of
    from kepler_train.plan.checkpoints import keep_checkpoints
    from kepler_train.plan.previous import keep_previous
    from kepler_train.runs.pipeline import train_pipeline
    from kepler_train.samples.parquet import window_of

    asked = o.spec_of(
        pipeline=pipeline_name,
        machine_id=machine_id,
        energy_sources=energy_source,
        feature_groups=feature_group,
        output_types=output_type,
        abs_trainers=abs_trainers,
        dyn_trainers=dyn_trainers,
        extractor=extractor,
        isolator=isolator,
        abs_pipeline=abs_pipeline_name,
        target_hints=target_hints,
        bg_hints=bg_hints,
        attribution=attribution,
        node_type=node_type,
        thirdparty_metrics=thirdparty_metrics,
        metric_prefix=metric_prefix,
        vm_train=vm_train,
        nodes=nodes,
        preprocessed_csv=preprocessed_data,
        continue_from=continue_from,
    )
    o.check_methods(asked)
    o.check_continue_from(continue_from)
    home = model_path(pipeline_name)
    with query_samples(query_name) as samples, scratch() as work, whole_folder(home, is_pipeline) as place:
        start, end = window_of(samples)
        spec = asked.model_copy(update={"start": start, "end": end})
        phases = o.schedule_of(schedule)
        machine = o.machine_of(machine_id, phases)
        known = known_background(spec, profile, work / "known")
        keep_checkpoints(spec, str(model_path("")), work / "kept")
        keep_previous(spec, str(model_path("")), work / "kept")
        figures = train_pipeline(samples, spec, phases, query_name, work, place.parent, machine, known, work / "kept")
        if not figures["models"]:
            raise DataError(f"None of the {figures['trained']} models passes the gate: {home} is not written.")
    say(f"Wrote {home}: {figures['models']} models, {figures['refused']} refused; {home / 'README.md'} says how good.")
    if figures["trained"] < len(models_of(spec)):
        lacking = f"{len(models_of(spec)) - figures['trained']} of {len(models_of(spec))}"
        raise DataError(f"{lacking} models could not be trained: {home / 'README.md'} says why.")


def export(
    pipeline_name: o.Pipeline,
    output: Annotated[str, typer.Option("-o", "--output", help="Folder of the model database, as MODEL_DB/models.")],
    publisher: Annotated[str, typer.Option(help="Account named as publisher.")] = "",
    benchmark: Annotated[str, typer.Option(help="Benchmark whose start is the time of collection.")] = "",
    collect_date: Annotated[str, typer.Option(help="Time of collection, as 2026-11-14T02:00:00Z.")] = "",
    zip_archives: Annotated[Literal["true", "false"], typer.Option("--zip", help="With a zip per model.")] = "true",
    legacy_pickles: Annotated[
        bool, typer.Option("--legacy-pickles", help="With the .pkl files that kepler-model-server 0.7 clients load.")
    ] = False,
) -> None:
    """Copy a trained pipeline into a model database, and list it there."""
    from pathlib import Path

    from kepler_train.export.database import copy_pipeline, is_pipeline
    from kepler_train.publish.index import list_pipeline
    from kepler_train.samples.benchmark import read_benchmark

    if benchmark and collect_date:
        raise UserError("Name the time of collection in one way: --benchmark or --collect-date.")
    collected = o.spec_of(pipeline=pipeline_name, start=collect_date).start
    if benchmark:
        collected = read_benchmark(named(benchmark, ".json"))[0]
    place = Path(output).expanduser() / pipeline_name
    if place.exists() and place.samefile(model_path(pipeline_name)):
        raise UserError(f"{place} is what is read, and is left as it is: choose another folder for the copy.")
    with whole_folder(place, is_pipeline) as folder:
        archives = zip_archives == "true"
        models = copy_pipeline(model_path(pipeline_name), folder, publisher, collected, archives, legacy_pickles)
    list_pipeline(str(place.parent.absolute()), pipeline_name)
    say(f"Wrote {place}: {models} models.")

"""The everyday commands: the same work as the steps of a run, on files of one's own."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

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
from kepler_train.cli.parameters import given, takes
from kepler_train.errors import UserError
from kepler_train.events import say

if TYPE_CHECKING:
    from kepler_train.extract.table_parts import TableInParts
    from kepler_train.spec import RunSpec

Inputs = Annotated[
    str,
    typer.Option("-i", "--input", help="The query: its folder, or kepler_query.json; several of a machine by commas."),
]


@takes(*o.SAMPLES, "nodes", "schedule", energy_sources="", feature_groups="")
def validate(
    context: typer.Context,
    query_name: o.Input = "kepler_query",
    output: Annotated[str, typer.Option("-o", "--output", help="JSON file of the verdict.")] = "",
) -> None:
    """Say what a query holds, what is wrong with it, and which feature groups are complete.

    Without --feature-group and --energy-source all are looked at, and one that is complete will do.
    """
    from kepler_train.catalog import catalog
    from kepler_train.samples.metrics import every_group
    from kepler_train.validate.judging import judge_samples
    from kepler_train.validate.verdict import check_verdict

    options = given(context)
    spec = o.spec_of(
        options,
        output_types=["AbsPower"],
        energy_sources=options["energy_sources"] or list(catalog().energy_sources),
        feature_groups=options["feature_groups"] or every_group(options["thirdparty_metrics"]),
    )
    phases = o.schedule_of(options["schedule"])
    with query_samples(query_name) as samples:
        found = judge_samples(samples, spec, phases)
    if output:
        # Also of samples that cannot serve: the verdict says why.
        with whole_file(named(output, ".json")) as file:
            found.write(file)
        say(f"Wrote {named(output, '.json')}.")
    check_verdict(spec, found, every_group=bool(options["feature_groups"]), to_train=True)


@takes("energy_sources", "feature_groups", "extractor", "resolution", *o.SAMPLES, "schedule", output_types="AbsPower")
def extract(
    context: typer.Context,
    query_name: o.Input = "kepler_query",
    output: o.Output = "extracted",
    preprocessed: o.Preprocessed = False,
) -> None:
    """Turn the counters of a query into rates and watts: a table, .parquet or .csv.

    AbsPower has a row per window and node; DynPower one per window and container, with the power of its node.
    """
    from kepler_train.runs.tables import about_table, extracted, extracted_table

    options = given(context)
    spec = o.spec_of(options)
    o.only_one(spec)
    o.check_methods(spec)
    phases = o.schedule_of(options["schedule"])
    with query_samples(query_name) as samples, scratch() as work:
        run = extracted(work, spec, samples, phases)
        _write_table(extracted_table(run), output, preprocessed, spec, about_table(run))


@takes(
    *("energy_sources", "feature_groups", "extractor", "resolution", "schedule"),
    *o.ISOLATION,
    *o.SAMPLES,
    output_types="DynPower",
    node_type=0,
)
def isolate(
    context: typer.Context,
    query_name: o.Input = "kepler_query",
    output: o.Output = "isolated",
    profile: o.Profile = "",
    preprocessed: o.Preprocessed = False,
) -> None:
    """Remove the background's power and share the rest among containers: a table, .parquet or .csv."""
    from kepler_train.cli.isolating import keep_background
    from kepler_train.runs.tables import about_table, isolated_table
    from kepler_train.runs.temporary import TemporaryRun

    options = given(context)
    spec = o.spec_of(options)
    o.only_one(spec)
    if spec.output_types != ["DynPower"]:
        raise UserError("AbsPower keeps its idle power: `kepler-train extract` has its rows.")
    o.check_methods(spec)
    phases = o.schedule_of(options["schedule"])
    with query_samples(query_name) as samples, scratch() as work:
        run = TemporaryRun(work, spec)
        run.give_plan(phases, keep_background(spec, profile))
        run.give_samples(samples, phases.machine)
        run.do("extract")
        run.do("isolate")
        _write_table(isolated_table(run), output, preprocessed, spec, about_table(run))


def _write_table(table: TableInParts, output: str, preprocessed: bool, spec: RunSpec, about: dict[str, Any]) -> None:
    """Write the rows of the one feature group and source of a spec, and say so."""
    from kepler_train.extract.training_table import preprocessed_name, write_preprocessed, write_table

    place = table_path(output)
    if preprocessed:
        kind, isolator = spec.output_types[0], about.get("isolator", "none")
        name = preprocessed_name(kind, spec.extractor, isolator, spec.energy_sources[0], spec.feature_groups[0])
        place = data_path(output) / name
    with whole_file(place) as file:
        if preprocessed:
            write_preprocessed(table, file, spec.node_type or 0)
        else:
            write_table(table, file, about)
    say(f"Wrote {place}: {table.rows:,} rows, {', '.join(table.columns)}.")


@takes(
    *("machine_id", "output_types", "extractor"),
    *("resolution", "continue_from", "seed", "nodes", "schedule", "preprocessed_csv", "legacy_pickles"),
    *("publisher", "node_type", "own_node_type"),
    *o.JUDGING,
    *o.ISOLATION,
    *o.SAMPLES,
    required=["pipeline"],
    energy_sources="",
    feature_groups="",
    abs_trainers="",
    dyn_trainers="",
)
def train(context: typer.Context, query_name: Inputs = "kepler_query", profile: o.Profile = "") -> None:
    """Train power models from a query, judge them, and keep them in MODEL_PATH/<pipeline>.

    All feature groups and energy sources of the data are learnt by all trainers, unless some are named.
    Those that do not pass the gate are kept with the reason; `export` leaves them out. The pipeline keeps the models of
    machines of other node types.
    """
    from kepler_train.cli.isolating import keep_background
    from kepler_train.cli.training import (
        everything,
        give_queries,
        input_names,
        keep_earlier_models,
        phases_of_all,
        tell_trained,
        train_into,
    )
    from kepler_train.export.database import is_pipeline
    from kepler_train.runs.everything import of_the_data
    from kepler_train.runs.temporary import TemporaryRun
    from kepler_train.samples.parquet import window_of

    options = given(context)
    asked, left_open = everything(options)
    o.check_methods(asked)
    o.check_continue_from(asked.continue_from)
    home = model_path(asked.pipeline)
    with (
        scratch() as work,
        ExitStack() as locks,
        whole_folder(home, is_pipeline) as place,
    ):
        samples = {name: locks.enter_context(query_samples(name)) for name in input_names(query_name)}
        starts, ends = zip(*map(window_of, samples.values()), strict=True)
        whole = asked.model_copy(update={"start": min(starts), "end": max(ends)})
        spec = of_the_data(whole, samples.values(), left_open)
        phases = phases_of_all(options["schedule"])
        machine = o.machine_of(spec.machine_id, phases)
        run = TemporaryRun(work, spec, query_name)
        run.give_plan(phases, keep_background(spec, profile), keep_earlier_models(spec))
        give_queries(run, samples, phases, machine)
        run.do("isolate")
        figures = train_into(place, run, locks, {"inputs": list(samples)} if len(samples) > 1 else None)
    tell_trained(spec, figures)

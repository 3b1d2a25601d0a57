"""`kepler-train isolate-from-data` and `train-from-data`: the same work on a frame of rows in place of a query."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import data_path, frame_file, model_path, scratch, table_path, whole_file, whole_folder
from kepler_train.cli.parameters import given, takes
from kepler_train.columns import TIME
from kepler_train.errors import UserError
from kepler_train.events import say, warn

if TYPE_CHECKING:
    from kepler_train.extract.user_frame import UserFrame
    from kepler_train.spec import RunSpec

Frame = Annotated[str, typer.Option("-i", "--input", help="The frame: a .csv or .parquet file, below DATAPATH.")]
Features = Annotated[
    str, typer.Option("--features", help="group: those of the feature group; frame: all columns; or a list of columns.")
]
# In the name of a file in the earlier layout.
_PREPROCESSED = re.compile(r"preprocess_dyn_(?P<extractor>[^_]+)_(?P<isolator>[^_]+)_.+\.csv")


@takes(*("machine_id", "energy_sources", "feature_groups", "nodes", "thirdparty_metrics"), *o.ISOLATION, node_type=None)
def isolate_from_data(
    context: typer.Context,
    frame: Frame,
    output: o.Output = "isolated",
    features: Features = "group",
    profile: o.Profile = "",
) -> None:
    """Remove the background's power from a frame and share the rest among containers: a table, .parquet or .csv.

    The rows are those of `extract -ot DynPower`: of containers, each with the power of its whole node. Rows without
    containers are taken for one container that does everything.
    """
    from kepler_train.cli.isolating import keep_background
    from kepler_train.extract.training_table import write_table
    from kepler_train.runs.from_data import give_rows
    from kepler_train.runs.tables import about_table, isolated_table
    from kepler_train.runs.temporary import TemporaryRun
    from kepler_train.train.chosen_features import chosen_features

    options = given(context)
    source = o.source_in_frame(options["energy_sources"])
    asked = o.spec_of(options, energy_sources=source, output_types="DynPower")
    o.only_one(asked)
    o.check_methods(asked)
    place = table_path(output)
    file = _frame_file(frame)
    rows = _read(file, asked)
    spec = asked.model_copy(update={"node_type": _node_type(rows, options["node_type"]) or 0})
    columns = chosen_features(rows, features, spec.feature_groups[0], spec.thirdparty_metrics)
    machine = o.machine_of(spec.machine_id, o.schedule_of(""))
    with scratch() as work, whole_file(place, inputs=[file]) as whole:
        run = TemporaryRun(work, spec)
        run.give_plan(o.schedule_of(""), keep_background(spec, profile), columns.write)
        give_rows(run, rows, _about(file), machine)
        run.do("isolate")
        table = isolated_table(run, columns.columns)
        write_table(table, whole, about_table(run))
    say(f"Wrote {place}: {table.rows:,} rows, {', '.join(table.columns)}.")


@takes(
    *("machine_id", "energy_sources", "feature_groups", "continue_from", "seed", "nodes", "schedule"),
    *("thirdparty_metrics", "publisher", "legacy_pickles", "node_type", "own_node_type"),
    *o.JUDGING,
    required=["pipeline"],
    output_types="AbsPower",
)
def train_from_data(
    context: typer.Context,
    frame: Frame,
    trainers: Annotated[str, typer.Option(help="Trainers, separated by commas, or auto.")] = "",
    features: Features = "group",
) -> None:
    """Train power models from a frame, judge them, and keep them with their verdicts in MODEL_PATH/<pipeline>.

    AbsPower learns the power of nodes; DynPower needs a frame that `isolate` or `isolate-from-data` wrote. With a
    schedule each row has the load of the phase that holds its window.
    """
    from kepler_train.cli.training import keep_earlier_models, tell_trained, train_into
    from kepler_train.export.database import is_pipeline
    from kepler_train.extract.user_frame import with_scheduled_workloads
    from kepler_train.hashing import sha256_of
    from kepler_train.runs.from_data import give_isolated_rows
    from kepler_train.runs.temporary import TemporaryRun
    from kepler_train.train.chosen_features import chosen_features

    file = _frame_file(frame)
    about = _about(file)
    options = given(context)
    dynamic = options["output_types"] == "DynPower"
    asked = o.spec_of(
        options,
        energy_sources=o.source_in_frame(options["energy_sources"]),
        extractor=about.get("extractor", ""),
        **{"dyn_trainers" if dynamic else "abs_trainers": trainers},
    )
    o.only_one(asked)
    o.check_methods(asked)
    o.check_continue_from(asked.continue_from)
    phases = o.schedule_of(options["schedule"])
    rows = _read(file, asked)
    if options["schedule"]:
        rows = with_scheduled_workloads(rows, phases, about)
    columns = chosen_features(rows, features, asked.feature_groups[0], asked.thirdparty_metrics)
    times = rows.rows[TIME]
    window = {"start": times.min().to_pydatetime(), "end": times.max().to_pydatetime()}
    machine = o.machine_of(asked.machine_id, phases)
    number = asked.node_type if machine else _node_type(rows, asked.node_type)
    spec = asked.model_copy(update=window | {"node_type": number})
    arguments = {
        "input": file.name,
        "input_sha256": sha256_of(file),
        "features_from": columns.origin,
        "features": columns.columns,
        "schedule": Path(options["schedule"]).name,
    }
    with scratch() as work, ExitStack() as locks, whole_folder(model_path(spec.pipeline), is_pipeline) as place:
        run = TemporaryRun(work, spec, file.name)
        run.give_plan(phases, keep_earlier_models(spec), columns.write)
        give_isolated_rows(run, rows, about, machine)
        figures = train_into(place, run, locks, arguments)
    tell_trained(spec, figures)


def _frame_file(name: str) -> Path:
    """Return the file of a frame, whose suffix may be left out."""
    file = frame_file(name)
    if file is None:
        raise UserError(f"There is no frame {data_path(name)}: name a .csv or .parquet file.")
    return file


def _read(file: Path, spec: RunSpec) -> UserFrame:
    from kepler_train.extract.user_frame import read_user_frame

    return read_user_frame(file, spec.energy_sources[0], spec.machine_id)


def _node_type(rows: UserFrame, asked: int | None) -> int | None:
    """Return the node type that the user names, else that of the frame; None where neither says one."""
    from kepler_train.spec import LARGEST_NODE_TYPE

    numbers = ", ".join(f"{number:g}" for number in rows.node_types).replace("nan", "none")
    if asked is not None:
        if rows.node_types and rows.node_types != [asked]:
            warn(f"Node type {asked} is asked for, where the frame says {numbers}.")
        return asked
    if not rows.node_types:
        return None
    (first, *others) = rows.node_types
    if others or not first.is_integer() or first > LARGEST_NODE_TYPE:
        raise UserError(
            f"The rows of the frame are of node types {numbers}: name the one that is meant by --node-type."
        )
    say(f"Node type {numbers}, as the frame says.")
    return int(first)


def _about(file: Path) -> dict[str, Any]:
    """Return what is known of the rows, as the metadata of the file or its name say."""
    if file.suffix == ".csv":
        named = _PREPROCESSED.fullmatch(file.name)
        return named.groupdict() if named else {}
    from kepler_train.extract.frame_metadata import read_frame_metadata

    return read_frame_metadata(file)

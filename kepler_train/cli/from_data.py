"""`kepler-train isolate-from-data` and `train-from-data`: the same work on a frame of rows in place of a query."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import data_path, frame_file, model_path, scratch, table_path, whole_file, whole_folder
from kepler_train.errors import DataError, UserError
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


def isolate_from_data(
    frame: Frame,
    output: o.Output = "isolated",
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    features: Features = "group",
    isolator: o.Isolator = "",
    profile: o.Profile = "",
    abs_pipeline_name: o.AbsPipeline = "",
    target_hints: o.TargetHints = "",
    bg_hints: o.BgHints = "",
    attribution: o.Attribution = "",
    machine_id: o.Machine = "",
    node_type: o.NodeTypeOfFrame = None,
    nodes: o.Nodes = "",
    thirdparty_metrics: o.ThirdParty = "",
) -> None:
    """Remove the background's power from a frame and share the rest among containers: a table, .parquet or .csv.

    The rows are those of `extract -ot DynPower`: of containers, each with the power of its whole node. Rows without
    containers are taken for one container that does everything.
    """
    from kepler_train.cli.isolating import known_background
    from kepler_train.extract.training_table import write_table
    from kepler_train.runs.from_data import isolate_given
    from kepler_train.runs.pipeline import about_table
    from kepler_train.train.chosen_features import chosen_features

    asked = o.spec_of(
        machine_id=machine_id,
        energy_sources=o.source_in_frame(energy_source),
        feature_groups=feature_group,
        output_types="DynPower",
        isolator=isolator,
        abs_pipeline=abs_pipeline_name,
        target_hints=target_hints,
        bg_hints=bg_hints,
        attribution=attribution,
        node_type=node_type,
        nodes=nodes,
        thirdparty_metrics=thirdparty_metrics,
    )
    o.only_one(asked)
    o.check_methods(asked)
    place = table_path(output)
    file = _frame_file(frame)
    given = _read(file, asked)
    spec = asked.model_copy(update={"node_type": _node_type(given, node_type)})
    columns = chosen_features(given, features, spec.feature_groups[0], spec.thirdparty_metrics)
    machine = o.machine_of(machine_id, o.schedule_of(""))
    with scratch() as work, whole_file(place, inputs=[file]) as whole:
        known = known_background(spec, profile, work / "known")
        table = isolate_given(given, spec, columns.columns, known, work, _about(file), machine)
        write_table(table, whole, about_table(work))
    say(f"Wrote {place}: {len(table):,} rows, {', '.join(map(str, table.columns))}.")


def train_from_data(
    frame: Frame,
    pipeline_name: o.Pipeline,
    energy_source: o.Source = "",
    feature_group: o.Group = "",
    output_type: o.OutputType = "AbsPower",
    trainers: Annotated[str, typer.Option(help="Trainers, separated by commas, or auto.")] = "",
    features: Features = "group",
    machine_id: o.Machine = "",
    node_type: o.NodeTypeOfFrame = None,
    nodes: o.Nodes = "",
    thirdparty_metrics: o.ThirdParty = "",
    schedule: o.ScheduleFile = "",
    continue_from: o.ContinueFrom = "",
) -> None:
    """Train power models from a frame, judge them, and keep those that pass in MODEL_PATH/<pipeline>.

    AbsPower learns the power of nodes; DynPower needs a frame that `isolate` or `isolate-from-data` wrote. With a
    schedule each row has the load of the phase that holds its window.
    """
    from kepler_train.export.database import is_pipeline
    from kepler_train.export.layout import complete_arguments
    from kepler_train.extract.user_frame import with_scheduled_workloads
    from kepler_train.hashing import sha256_of
    from kepler_train.parts import models_of
    from kepler_train.plan.checkpoints import keep_checkpoints
    from kepler_train.plan.previous import keep_previous
    from kepler_train.runs.from_data import train_given
    from kepler_train.train.chosen_features import chosen_features

    file = _frame_file(frame)
    about = _about(file)
    asked = o.spec_of(
        pipeline=pipeline_name,
        machine_id=machine_id,
        energy_sources=o.source_in_frame(energy_source),
        feature_groups=feature_group,
        output_types=output_type,
        **{"dyn_trainers" if output_type == "DynPower" else "abs_trainers": trainers},
        extractor=about.get("extractor", ""),
        node_type=node_type,
        nodes=nodes,
        thirdparty_metrics=thirdparty_metrics,
        continue_from=continue_from,
    )
    o.only_one(asked)
    o.check_methods(asked)
    o.check_continue_from(continue_from)
    phases = o.schedule_of(schedule)
    given = _read(file, asked)
    if schedule:
        given = with_scheduled_workloads(given, phases, about)
    columns = chosen_features(given, features, asked.feature_groups[0], asked.thirdparty_metrics)
    times = given.rows["time"]
    window = {"start": times.min().to_pydatetime(), "end": times.max().to_pydatetime()}
    spec = asked.model_copy(update=window | {"node_type": _node_type(given, node_type)})
    machine = o.machine_of(machine_id, phases)
    home = model_path(pipeline_name)
    with scratch() as work, whole_folder(home, is_pipeline) as place:
        keep_checkpoints(spec, str(model_path("")), work / "kept")
        keep_previous(spec, str(model_path("")), work / "kept")
        figures = train_given(given, spec, columns, file.name, work, place.parent, about, machine, work / "kept")
        complete_arguments(
            place,
            {
                "input": file.name,
                "input_sha256": sha256_of(file),
                "features_from": columns.origin,
                "features": columns.columns,
                "schedule": Path(schedule).name,
            },
        )
        if not figures["models"]:
            raise DataError(f"None of the {figures['trained']} models passes the gate: {home} is not written.")
    say(f"Wrote {home}: {figures['models']} models, {figures['refused']} refused; {home / 'README.md'} says how good.")
    if figures["trained"] < len(models_of(spec)):
        lacking = f"{len(models_of(spec)) - figures['trained']} of {len(models_of(spec))}"
        raise DataError(f"{lacking} models could not be trained: {home / 'README.md'} says why.")


def _frame_file(name: str) -> Path:
    """The file of a frame, whose suffix may be left out."""
    found = frame_file(name)
    if found is None:
        raise UserError(f"There is no frame {data_path(name)}: name a .csv or .parquet file.")
    return found


def _read(file: Path, spec: RunSpec) -> UserFrame:
    from kepler_train.extract.user_frame import read_user_frame

    return read_user_frame(file, spec.energy_sources[0], spec.machine_id)


def _node_type(given: UserFrame, asked: int | None) -> int:
    """The node type that the user names, else the frame; else 0."""
    numbers = ", ".join(f"{number:g}" for number in given.node_types).replace("nan", "none")
    if asked is not None:
        if given.node_types and given.node_types != [asked]:
            warn(f"Node type {asked} is asked for, where the frame says {numbers}.")
        return asked
    if not given.node_types:
        return 0
    (first, *others) = given.node_types
    if others or not first.is_integer():
        raise UserError(
            f"The rows of the frame are of node types {numbers}: name the one that is meant by --node-type."
        )
    say(f"Node type {numbers}, as the frame says.")
    return int(first)


def _about(file: Path) -> dict[str, Any]:
    """What is known of the rows: as the file says, or its name."""
    if file.suffix == ".csv":
        named = _PREPROCESSED.fullmatch(file.name)
        return named.groupdict() if named else {}
    from pyarrow import ArrowInvalid

    from kepler_train.extract.frame_metadata import read_frame_metadata
    from kepler_train.extract.user_frame import unreadable

    try:
        return read_frame_metadata(file)
    except (ArrowInvalid, OSError) as error:
        raise unreadable(file, error) from None

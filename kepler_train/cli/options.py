"""Options that the everyday commands share, by the names that users of Kepler know; lists are separated by commas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kepler_train.errors import UserError, unknown_name

if TYPE_CHECKING:
    from kepler_train.machine.spec import MachineSpec
    from kepler_train.samples.schedule import Schedule
    from kepler_train.spec import RunSpec

Input = Annotated[str, typer.Option("-i", "--input", help="The query: its folder, or kepler_query.json.")]
Output = Annotated[str, typer.Option("-o", "--output", help="What to write, below DATAPATH.")]
Pipeline = Annotated[str, typer.Option("-p", "--pipeline-name", help="Name of the pipeline.")]
Source = Annotated[str, typer.Option("-e", "--energy-source", help="Power meters, as rapl-sysfs or acpi.")]
Group = Annotated[str, typer.Option("-fg", "--feature-group", help="Feature groups, as BPFOnly.")]
OutputType = Annotated[str, typer.Option("-ot", "--output-type", help="AbsPower or DynPower.")]
Machine = Annotated[str, typer.Option("--id", help="Name of the measured machine.")]
Nodes = Annotated[str, typer.Option("--nodes", help="Nodes to take; by default the one that is there.")]
Prefix = Annotated[str, typer.Option("--metric-prefix", help="What Kepler's metric names start with.")]
ThirdParty = Annotated[str, typer.Option("--thirdparty-metrics", help="Metrics of other exporters, as features.")]
ScheduleFile = Annotated[str, typer.Option("--schedule", help="JSON of the load phases; else blocks of time.")]
Extractor = Annotated[str, typer.Option("--extractor", help="How counters become rates.")]
Isolator = Annotated[
    str, typer.Option("--isolator", help="How the background's power is removed: auto, none, min, profile or trainer.")
]
Profile = Annotated[str, typer.Option("--profile", help="Profile of the idle machine, or a query made when it idled.")]
AbsPipeline = Annotated[str, typer.Option("--abs-pipeline-name", help="trainer: pipeline of the AbsPower model.")]
TargetHints = Annotated[str, typer.Option("--target-hints", help="trainer: parts of pod names that are the load.")]
BgHints = Annotated[str, typer.Option("--bg-hints", help="trainer: parts of pod names that are background.")]
Attribution = Annotated[
    str, typer.Option("--attribution", help="How power is shared among containers: proportional or main-feature.")
]
VmTrain = Annotated[bool, typer.Option("--vm-train", help="Learn the power of virtual machines, from inside them.")]
Preprocessed = Annotated[
    bool, typer.Option("--preprocessed", help="Write OUTPUT/preprocess_….csv, as earlier tools name and read it.")
]
ContinueFrom = Annotated[
    str, typer.Option("--continue-from", help="Pipeline in MODEL_PATH whose earlier models training goes on from.")
]
NodeType = Annotated[int, typer.Option("--node-type", min=0, help="Node type that the machine is of.")]
NodeTypeOfFrame = Annotated[
    int | None,
    typer.Option(
        "--node-type", min=0, help="Node type that the machine is of; by default what the frame says, else 0."
    ),
]


def spec_of(**given: Any) -> RunSpec:
    """The spec that the options describe; an option that was not given has the spec's default."""
    from kepler_train.spec import read_spec

    if given.get("pipeline") == "":
        raise UserError("The pipeline has no name: give one with --pipeline-name.")
    return read_spec({name: value for name, value in given.items() if value}, "The options")


def only_one(spec: RunSpec) -> None:
    """A table has one feature group, one source and one output type."""
    for option, values in (
        ("--energy-source", spec.energy_sources),
        ("--feature-group", spec.feature_groups),
        ("--output-type", spec.output_types),
    ):
        if len(values) != 1:
            raise UserError(f"{option} {','.join(values)}: a table holds one of them, choose one.")


def check_methods(spec: RunSpec) -> None:
    """Refuse what this version does not have, before any work, and say what it will not look at."""
    from kepler_train.events import warn
    from kepler_train.plan.step import check_methods as check

    check(spec)
    if (spec.target_hints or spec.bg_hints) and spec.isolator != "trainer":
        warn(f"The isolator {spec.isolator} takes no hints: --target-hints and --bg-hints change nothing.")


def source_in_frame(name: str) -> str:
    """The energy source as frames of earlier tools name it, too: their `rapl` is served as rapl-sysfs."""
    from kepler_train.catalog import catalog
    from kepler_train.events import say

    if name != "rapl":
        return name
    say(f"The energy source {name} is taken for {catalog().served_source(name)}.")
    return catalog().served_source(name)


def check_continue_from(name: str) -> None:
    """Refuse to go on from a pipeline that is not there: who types its name means one that is."""
    from kepler_train.cli.files import model_path
    from kepler_train.export.database import is_pipeline
    from kepler_train.publish.target import open_target

    if not name:
        return
    models = model_path("")
    published = open_target(str(models))
    folders = sorted(models.iterdir()) if models.is_dir() else []
    there = [folder.name for folder in folders if is_pipeline(folder) or published.latest(folder.name)]
    if name not in there:
        known = unknown_name("pipeline", name, there) if there else f"There is no pipeline {name!r}, nor any other."
        raise UserError(f"--continue-from, below {models}: {known}")


def schedule_of(name: str) -> Schedule:
    """The load phases in a file of data, whose .json may be left out; no name, no phases."""
    from kepler_train.cli.files import data_path, named
    from kepler_train.samples.schedule import read_schedule

    if not name or "://" in name:
        return read_schedule(name)
    return read_schedule(str(data_path(name) if data_path(name).exists() else named(name, ".json")))


def machine_of(machine_id: str, schedule: Schedule) -> MachineSpec | None:
    """The measured machine: as its stress run describes it, else as <id>.json does where there is one."""
    from kepler_train.cli.files import named
    from kepler_train.machine.spec_file import read_machine

    if schedule.machine or not machine_id:
        return schedule.machine
    file = named(machine_id, ".json")
    return read_machine(file) if file.exists() else None

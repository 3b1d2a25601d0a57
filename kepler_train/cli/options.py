"""What the everyday commands share: options that are no parameters of a run, and the spec that all options describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kepler_train.errors import UserError, unknown_name

if TYPE_CHECKING:
    from kepler_train.machine.spec import MachineSpec
    from kepler_train.samples.schedule import Schedule
    from kepler_train.spec import RunSpec

Input = Annotated[str, typer.Option("-i", "--input", help="The query: its folder, or kepler_query.json.")]
Output = Annotated[str, typer.Option("-o", "--output", help="What to write, below DATAPATH.")]
Profile = Annotated[str, typer.Option("--profile", help="Profile of the idle machine, or a query made when it idled.")]
Preprocessed = Annotated[
    bool, typer.Option("--preprocessed", help="Write OUTPUT/preprocess_….csv, as earlier tools name and read it.")
]
# Parameters that several commands take.
SAMPLES = ("thirdparty_metrics", "metric_prefix", "vm_train")
GATE = ("gate_mae", "gate_mape", "gate_limit")
JUDGING = (*GATE, "mape_floor", "folds", "interval_level")
ISOLATION = ("isolator", "abs_pipeline", "target_hints", "bg_hints", "attribution")


def spec_of(given: Mapping[str, Any], **more: Any) -> RunSpec:
    """Return the spec that options and `more` describe; what is empty has the spec's default.

    The load phases are no part of it: commands read them from a file of the user's.
    """
    from kepler_train.spec import RunSpec, read_spec

    if given.get("pipeline") == "":
        raise UserError("The pipeline has no name: give one with --pipeline-name.")
    described = {
        name: value
        for name, value in (dict(given) | more).items()
        if name != "schedule" and value not in ("", [], None, RunSpec.model_fields[name].default)
    }
    return read_spec(described, "The options")


def only_one(spec: RunSpec) -> None:
    """Refuse a table of several feature groups, sources or output types."""
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
    """Return the energy source of a frame; that which earlier tools call `rapl` is served as rapl-sysfs."""
    from kepler_train.catalog import catalog
    from kepler_train.events import say

    if name != "rapl":
        return name
    say(f"The energy source {name} is taken for {catalog().served_source(name)}.")
    return catalog().served_source(name)


def check_continue_from(name: str) -> None:
    """Refuse to go on from a pipeline that does not exist: who types its name means one that does."""
    from kepler_train.cli.files import model_path
    from kepler_train.export.database import is_pipeline
    from kepler_train.publish.target import open_target

    if not name:
        return
    models = model_path("")
    published = open_target(str(models))
    folders = sorted(models.iterdir()) if models.is_dir() else []
    pipelines = [folder.name for folder in folders if is_pipeline(folder) or published.latest(folder.name)]
    if name not in pipelines:
        known = (
            unknown_name("pipeline", name, pipelines) if pipelines else f"There is no pipeline {name!r}, nor any other."
        )
        raise UserError(f"--continue-from, below {models}: {known}")


def schedule_of(name: str) -> Schedule:
    """Return the load phases in a file of data, whose .json may be left out; without a name there are none."""
    from kepler_train.cli.files import data_path, named
    from kepler_train.samples.schedule import read_schedule

    if not name or "://" in name:
        return read_schedule(name)
    return read_schedule(str(data_path(name) if data_path(name).exists() else named(name, ".json")))


def machine_of(machine_id: str, schedule: Schedule) -> MachineSpec | None:
    """Return the measured machine as its stress run describes it, else as <id>.json does, if that exists."""
    from kepler_train.cli.files import named
    from kepler_train.machine.spec_file import read_machine

    if schedule.machine or not machine_id:
        return schedule.machine
    file = named(machine_id, ".json")
    return read_machine(file) if file.exists() else None

"""What `train` and `train-from-data` share: models to go on from, and the folder of the trained pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from shutil import move
from typing import Any

from kepler_train.catalog import catalog
from kepler_train.cli.files import alone_beside, data_path, model_path, named
from kepler_train.cli.options import schedule_of, spec_of
from kepler_train.errors import DataError, UserError
from kepler_train.events import say
from kepler_train.export.carry import carry_node_types
from kepler_train.export.database import is_pipeline
from kepler_train.export.layout import complete_arguments
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.machine.spec import MachineSpec
from kepler_train.parts import models_of
from kepler_train.plan.checkpoints import keep_checkpoints
from kepler_train.plan.node_types import keep_node_types
from kepler_train.plan.previous import keep_previous
from kepler_train.runs.everything import every_trainer
from kepler_train.runs.inputs import give_inputs
from kepler_train.runs.temporary import TemporaryRun, Write
from kepler_train.samples.metrics import every_group
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures

# What users of earlier tools write for all of them.
_ALL = ("", "all", "default")


def everything(options: Mapping[str, Any]) -> tuple[RunSpec, list[str]]:
    """Return the spec that options describe, with all there is where nobody chose, and what the data are to decide."""
    types = spec_of({name: options[name] for name in ("pipeline", "output_types")}).output_types
    groups = [
        name
        for name in every_group(options["thirdparty_metrics"])
        if set(types) <= set(catalog().group(name).output_types)
    ]
    every = {"energy_sources": list(catalog().energy_sources), "feature_groups": groups}
    left_open = [name for name in every if options[name] in _ALL]
    chosen = {name: every[name] for name in left_open}
    for name, output_type in (("abs_trainers", "AbsPower"), ("dyn_trainers", "DynPower")):
        if options[name] in _ALL and output_type in types:
            chosen[name] = every_trainer(output_type)
        elif options[name] in _ALL:
            chosen[name] = []  # the spec's own, of which there will be none
    return spec_of(options, **chosen), left_open


def input_names(text: str) -> list[str]:
    """Return the queries that `--input` names, separated by commas, each once; a name may itself have a comma."""
    if data_path(text).exists() or named(text, ".json").exists():
        return [text]
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip())) or [text]


def phases_of_all(text: str) -> Schedule:
    """Return the load phases of one or several schedules, separated by commas, of one machine."""
    schedules = [schedule_of(name.strip()) for name in text.split(",")]
    machines = {schedule.machine for schedule in schedules if schedule.machine}
    kinds = {tuple(machine.attributes().values()) for machine in machines}
    if len(kinds) > 1:
        raise UserError(f"--schedule {text}: they are of different machines, and a pipeline is trained on one at once.")
    return schedules[0].model_copy(
        update={
            "machine": next(iter(machines), None),
            "phases": [phase for schedule in schedules for phase in schedule.phases],
            "notes": [note for schedule in schedules for note in schedule.notes],
        }
    )


def give_queries(run: TemporaryRun, samples: Mapping[str, Path], phases: Schedule, machine: MachineSpec | None) -> None:
    """Give a run the extracted rows of one query, or of several together."""
    if len(samples) > 1:
        give_inputs(run, samples, phases, machine)
        return
    run.give_samples(next(iter(samples.values())), machine)
    run.do("extract")


def keep_earlier_models(spec: RunSpec) -> Write:
    """Return what keeps, of the models below MODEL_PATH, those to go on from and those to compare with."""

    def keep(folder: Path) -> None:
        keep_node_types(spec.pipeline, str(model_path("")), folder)
        keep_checkpoints(spec, str(model_path("")), folder)
        keep_previous(spec, str(model_path("")), folder)

    return keep


def train_into(place: Path, run: TemporaryRun, locks: ExitStack, arguments: Mapping[str, Any] | None = None) -> Figures:
    """Train the models of a run into the folder `place`, with the other node types that the pipeline has.

    From then on `locks` keep others from changing the pipeline, until the folder has taken its place. `arguments` are
    added to those that the pipeline says it was trained with.
    """
    figures = run.train()
    move(run.folder("export") / run.spec.pipeline, place)
    if arguments:
        complete_arguments(place, arguments)
    home = model_path(run.spec.pipeline)
    locks.enter_context(alone_beside(home))
    if is_pipeline(home):
        PipelineMetadata.of_folder(place).after(PipelineMetadata.read(home)).write(place)
        carry_node_types(home, place)
    return figures


def tell_trained(spec: RunSpec, figures: Figures) -> None:
    """Say what was written; a model that could not be trained is an error in the end."""
    home, models = model_path(spec.pipeline), len(models_of(spec))
    report = home / "README.md"
    kept = figures["models"] + figures["refused"]
    say(f"Wrote {home}: {kept} models, {figures['models']} pass the gate; {report} says how good.")
    if figures["trained"] < models:
        raise DataError(f"{models - figures['trained']} of {models} models could not be trained: {report} says why.")
    if not figures["models"]:
        raise DataError(
            f"None of the {kept} models passes the gate: they are kept in {home}, {report} says why, and `kepler-train"
            " export` refuses them unless its gate is wider."
        )

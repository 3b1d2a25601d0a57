"""Plan: settle what the run is — its window and its load phases — before anything is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from kepler_train.collect.schedule import Schedule, parse_schedule, read_schedule
from kepler_train.collect.stress.loads import parse_load
from kepler_train.errors import UserError, unknown_name
from kepler_train.isolate.isolators import check_isolation
from kepler_train.spec import RunSpec, read_spec
from kepler_train.train.trainer import check_trainer
from kepler_train.workspace import Figures, Inputs, Run
from kepler_train.workspace.manifest import Manifest, sha256_of

EXTRACTORS = ("default", "smooth")
SPEC, SCHEDULE = "spec.json", "schedule.json"
_MINUTE = "%Y-%m-%d %H:%M:%S UTC"


def plan(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Check that this version can do what is asked, and store the spec and, unless it is to be made, the schedule.

    What is known of the machine's background now and what is published are kept too, so that all steps of the run see
    the same.
    """
    from kepler_train.steps.background import keep_known
    from kepler_train.steps.checkpoints import keep_checkpoints
    from kepler_train.steps.previous import keep_previous

    if spec.cos_provider != "none" or spec.cos_secret_name:
        raise UserError(
            "This version takes the keys of an object store from the environment only (AWS_ACCESS_KEY_ID, …):"
            " leave cos_provider at none and cos_secret_name empty."
        )
    check_methods(spec)
    store = inputs.run.store
    models = spec.publish_to or f"{store.uri}/models"
    if spec.stress:
        _check_stress(spec)
        keep_known(spec, store, models, out)
        keep_previous(spec, models, out)
        keep_checkpoints(spec, models, out)
        (out / SPEC).write_text(spec.model_dump_json(indent=1), encoding="utf-8")
        return {"loads": len(spec.stress_args)}
    start, end = spec.window
    schedule = read_schedule(spec.schedule)
    keep_known(spec, store, models, out)
    keep_previous(spec, models, out)
    keep_checkpoints(spec, models, out)
    inside = [phase for phase in schedule.phases if phase.start < end and phase.end > start]
    (out / SPEC).write_text(spec.model_dump_json(indent=1), encoding="utf-8")
    (out / SCHEDULE).write_text(
        schedule.model_copy(update={"phases": inside}).model_dump_json(indent=1), encoding="utf-8"
    )
    return {"start": f"{start:{_MINUTE}}", "end": f"{end:{_MINUTE}}", "phases": len(inside)}


def run_schedule(inputs: Inputs) -> Schedule:
    """The load phases of the run, as the plan settled them or as the stress step made them."""
    file = inputs.folder("stress" if "stress" in inputs.folders else "plan") / SCHEDULE
    return parse_schedule(file.read_bytes(), file)


def _check_stress(spec: RunSpec) -> None:
    """Refuse what a run that stresses the machine cannot do, before there is any load."""
    if spec.start or spec.end or spec.schedule:
        raise UserError(
            "A run that stresses the machine learns from that time: leave start, end and schedule empty, or stress off."
        )
    if len(spec.nodes) > 1:
        raise UserError(f"A run stresses one machine, not {', '.join(spec.nodes)}: name one in nodes.")
    if not [parse_load(load) for load in spec.stress_args]:
        raise UserError("There is nothing to stress the machine with: name loads in stress_args, or leave stress off.")


def check_methods(spec: RunSpec) -> None:
    """Refuse an extractor, an isolator or a trainer that this version does not have, before any work."""
    if spec.extractor not in EXTRACTORS:
        known = unknown_name("extractor", spec.extractor, EXTRACTORS)
        raise UserError(f"This version cannot extract by that name. {known}")
    check_isolation(spec)
    for trainer in (*spec.abs_trainers, *spec.dyn_trainers):
        check_trainer(trainer)


def settle(asked: RunSpec, run: Run, now: datetime, interval: tuple[datetime, datetime] | None) -> RunSpec:
    """The spec of a run with nothing left open: its window, and the pipeline that the run is of."""
    if "pipeline" in asked.model_fields_set and asked.pipeline != run.pipeline:
        raise UserError(
            f"The run {run.name} is of the pipeline {run.pipeline}, but its parameters name {asked.pipeline}."
        )
    if asked.stress:  # the window is when the stress step ran
        return asked.model_copy(update={"pipeline": run.pipeline})
    has_interval = interval is not None and interval[0] < interval[1]  # that of a manual run has no length
    start, end = plan_window(asked, now, interval if has_interval else _stressed_window(asked))
    return asked.model_copy(update={"pipeline": run.pipeline, "start": start, "end": end})


def _stressed_window(asked: RunSpec) -> tuple[datetime, datetime] | None:
    """The time that the load phases span, for a run that names them and nothing else."""
    schedule = read_schedule(asked.schedule)
    return schedule.span() if schedule.phases else None


def plan_window(
    spec: RunSpec, now: datetime, interval: tuple[datetime, datetime] | None = None
) -> tuple[datetime, datetime]:
    """The window of a run: what the user asked for, else the data interval, else the time just before `now`."""
    try:
        start, end = _asked_window(spec, now, interval)
    except OverflowError:
        raise UserError(
            f"The window ends beyond the calendar: {spec.window_seconds:g} s is too long a window_seconds."
        ) from None
    if max(start, end) > now:
        raise UserError(
            f"The window lies in the future, from {start:{_MINUTE}} to {end:{_MINUTE}}: it is {now:{_MINUTE}} now."
        )
    if start >= end:
        raise UserError(f"The window has no length: it starts at {start:{_MINUTE}} and ends at {end:{_MINUTE}}.")
    return start, end


def _asked_window(
    spec: RunSpec, now: datetime, interval: tuple[datetime, datetime] | None
) -> tuple[datetime, datetime]:
    length = timedelta(seconds=spec.window_seconds)
    if spec.start is not None:
        return spec.start, spec.end or min(spec.start + length, now)
    if spec.end is not None:
        return spec.end - length, spec.end
    if interval is not None and interval[0] < interval[1]:
        return interval
    return now - length, now


def planned(run: Run) -> RunSpec:
    """The spec that the plan step stored; with the window of the stress step, if the run has one and it is done."""
    manifest = run.manifest("plan")
    if manifest is None:
        raise UserError(f"The run {run.name} has no plan yet: run the plan step first.")
    with _stored(run, manifest, SPEC) as file:
        spec = read_spec_file(file)
    stress = run.manifest("stress") if spec.stress else None
    if stress is None:
        return spec
    with _stored(run, stress, SCHEDULE) as file:
        start, end = parse_schedule(file.read_bytes(), file).span()
    return spec.model_copy(update={"start": start, "end": end})


@contextmanager
def _stored(run: Run, manifest: Manifest, name: str) -> Iterator[Path]:
    """A file that a step stored, verified by its hash."""
    with run.store.scratch() as scratch:
        file = run.store.download(f"{run.folder(manifest.step)}/{name}", scratch)
        expected = {record.path: record.sha256 for record in manifest.outputs}
        if not file.is_file() or sha256_of(file) != expected.get(name):
            what = Path(name).stem
            raise UserError(f"The stored {what} of the run {run.name} was changed: run the {manifest.step} step again.")
        yield file


def read_spec_file(file: Path) -> RunSpec:
    """A spec from a JSON file."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The spec {file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UserError(f"The spec {file} is not JSON: {error}.") from None
    return read_spec(data, str(file))

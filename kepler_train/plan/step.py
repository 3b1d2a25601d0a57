"""Plan: settle what the run is — its window and its load phases — before anything is done."""

from __future__ import annotations

from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.isolate.isolators import check_isolation
from kepler_train.plan.stored import SPEC
from kepler_train.publish.place import readable_models
from kepler_train.samples.schedule import SCHEDULE, read_schedule
from kepler_train.spec import RunSpec
from kepler_train.stress.loads import parse_load
from kepler_train.train.trainer import check_trainer
from kepler_train.workspace import Figures, Inputs, open_store
from kepler_train.workspace.s3 import S3Store

_MINUTE = "%Y-%m-%d %H:%M:%S UTC"


def plan(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Check that this version can do what is asked, and store the spec and, unless it is to be made, the schedule.

    What is known of the machine's background now and what is published are kept too, so that all steps of the run see
    the same.
    """
    from kepler_train.plan.background import keep_known
    from kepler_train.plan.checkpoints import keep_checkpoints
    from kepler_train.plan.node_types import keep_node_types
    from kepler_train.plan.previous import keep_previous
    from kepler_train.query.credentials import credentials_for

    check_methods(spec)
    credentials_for(spec.prometheus)  # a server that may not have them is refused now, not after the stress
    store = inputs.run.store
    models = readable_models(spec, store)
    for place in (store, open_store(models)):
        if isinstance(place, S3Store):
            place.check_server()  # the same, for the keys of S3

    def keep_what_is_there() -> None:
        keep_known(spec, store, models, out)
        keep_node_types(spec.pipeline, models, out)
        keep_previous(spec, models, out)
        keep_checkpoints(spec, models, out)

    if spec.stress:
        _check_stress(spec)
        keep_what_is_there()
        (out / SPEC).write_text(spec.model_dump_json(indent=1), encoding="utf-8")
        return {"loads": len(spec.stress_args)}
    start, end = spec.window
    schedule = read_schedule(spec.schedule)
    keep_what_is_there()
    inside = [phase for phase in schedule.phases if phase.start < end and phase.end > start]
    (out / SPEC).write_text(spec.model_dump_json(indent=1), encoding="utf-8")
    (out / SCHEDULE).write_text(
        schedule.model_copy(update={"phases": inside}).model_dump_json(indent=1), encoding="utf-8"
    )
    return {"start": f"{start:{_MINUTE}}", "end": f"{end:{_MINUTE}}", "phases": len(inside)}


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
    """Refuse an isolator that lacks what it needs, or a trainer that cannot be used, before any work."""
    check_isolation(spec)
    for trainer in (*spec.abs_trainers, *spec.dyn_trainers):
        check_trainer(trainer)

"""`kepler-train run-step`: what pods and local tasks call."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.errors import UserError

if TYPE_CHECKING:
    from kepler_train.spec import RunSpec


def run_step(
    step: Annotated[str, typer.Argument(help="Its name, from plan to publish.")],
    workspace: Annotated[str, typer.Option(envvar="KEPLER_TRAIN_WORKSPACE", help="Folder or s3://bucket/prefix.")],
    run: Annotated[str, typer.Option(help="<pipeline>/<run id>.")],
    part: Annotated[str, typer.Option(help="One piece of a step done in parts, as train is.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Do it again even when nothing has changed.")] = False,
    request: Annotated[
        str, typer.Option(envvar="KEPLER_TRAIN_REQUEST", help="Name that all tries of one task share.", hidden=True)
    ] = "",
    reuse: Annotated[
        bool, typer.Option("--reuse", envvar="KEPLER_TRAIN_REUSE", help="stress, query: take the result that is there.")
    ] = False,
    spec: Annotated[Path | None, typer.Option(help="plan: JSON file of the run's parameters.")] = None,
    spec_json: Annotated[str, typer.Option(envvar="KEPLER_TRAIN_SPEC", hidden=True)] = "",
    interval: Annotated[
        str, typer.Option(envvar="KEPLER_TRAIN_INTERVAL", help="plan: the schedule's window, <start>/<end>.")
    ] = "",
    now: Annotated[
        str, typer.Option(envvar="KEPLER_TRAIN_NOW", help="plan: the time that counts as now (default: now).")
    ] = "",
    kind: Annotated[str, typer.Option(envvar="KEPLER_TRAIN_RUN_TYPE", hidden=True)] = "",
    before: Annotated[str, typer.Option(envvar="KEPLER_TRAIN_BEFORE", hidden=True)] = "",
    last: Annotated[bool, typer.Option("--last", envvar="KEPLER_TRAIN_LAST", hidden=True)] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", envvar="KEPLER_TRAIN_CHECK", help="plan: see that Prometheus answers and targets can be written."
        ),
    ] = False,
    publish_to: Annotated[str, typer.Option(help="publish: another target than that of the run.")] = "",
) -> None:
    """Do one step of a run, on files in the workspace."""
    from kepler_train.errors import unknown_name
    from kepler_train.plan.places import check_places
    from kepler_train.plan.stored import planned
    from kepler_train.plan.window import Due, settle
    from kepler_train.runs.registry import STEPS
    from kepler_train.runs.request import Request
    from kepler_train.runs.runner import run_step as do
    from kepler_train.workspace import Run, open_store

    if step not in STEPS:
        raise UserError(unknown_name("step", step, STEPS))
    place = Run.named(open_store(workspace), run)
    if step == "plan":
        due = Due(_now(now), _interval(interval), kind, _time(before) if before else None, last)
        settled = settle(_asked(spec, spec_json), place, due)
        if check:
            check_places(settled, place.store)
    else:
        settled = planned(place)
    if publish_to:
        settled = _with_target(settled, step, publish_to)
    do(STEPS[step], STEPS, place, settled, part, force, request=Request(request, reuse))


def _asked(file: Path | None, text: str) -> RunSpec:
    """Return the parameters of a run that is being planned."""
    from kepler_train import strict_json
    from kepler_train.plan.stored import read_spec_file
    from kepler_train.spec import read_spec

    return read_spec_file(file) if file is not None else read_spec(strict_json.read(text or "{}", "KEPLER_TRAIN_SPEC"))


def _with_target(spec: RunSpec, step: str, target: str) -> RunSpec:
    """Return the spec of a run whose models go to another target."""
    from kepler_train.spec import form_values, read_spec

    if step != "publish":
        raise UserError(f"--publish-to is for the step publish, not for {step}.")
    checked = read_spec({**form_values(spec), "publish_to": target}, "--publish-to")
    return spec.model_copy(update={"publish_to": checked.publish_to})


def _now(text: str) -> datetime:
    return _time(text) if text else datetime.now(UTC)


def _interval(text: str) -> tuple[datetime, datetime] | None:
    """Return the two times of an interval; None for a run without a data interval."""
    start, _, end = text.partition("/")
    if bool(start) != bool(end):
        raise UserError(f"{text!r} is not an interval: write it as <start>/<end>.")
    return (_time(start), _time(end)) if start else None


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        in_utc = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UserError(f"{text!r} is not a time: write it as 2026-11-14T02:00:00Z.") from None
    if moment.tzinfo is None:
        raise UserError(f"The time {text!r} needs its zone, as in 2026-11-14T02:00:00Z.")
    return in_utc

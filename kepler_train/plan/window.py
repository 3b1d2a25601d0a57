"""The window of a run: the requested one, else its data interval, else the time just before now; and why it is that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from kepler_train.errors import UserError
from kepler_train.events import say
from kepler_train.samples.schedule import read_schedule
from kepler_train.spec import EARLIEST, LONGEST_WINDOW, RunSpec
from kepler_train.workspace import Run

_MINUTE = "%Y-%m-%d %H:%M:%S UTC"
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Due:
    """When a run is due: `now`, by a schedule with an `interval`, or by a person who asks for the time `before`.

    `kind` is Airflow's type of the run. `last` is whether somebody chose window_seconds: then it is that time, and not
    the one of the load phases that an installation names for all runs.
    """

    now: datetime
    interval: tuple[datetime, datetime] | None = None
    kind: str = ""
    before: datetime | None = None
    last: bool = False


def settle(spec: RunSpec, run: Run, due: Due) -> RunSpec:
    """Return the spec of a run with its window and its pipeline settled."""
    check_kind(spec, due.kind)
    if "pipeline" in spec.model_fields_set and spec.pipeline != run.pipeline:
        raise UserError(
            f"The run {run.name} is of the pipeline {run.pipeline}, but its parameters name {spec.pipeline}."
        )
    if spec.stress:  # the window is when the stress step ran
        return spec.model_copy(update={"pipeline": run.pipeline})
    interval = due.interval
    has_interval = interval is not None and interval[0] < interval[1]  # that of a manual run has no length
    used = interval if has_interval else None if due.last else _stressed_window(spec)
    start, end = plan_window(spec, due.now, used, due.before)
    if due.kind:  # somebody reads it in a log, days later
        say(f"plan: the window is {start:{_MINUTE}} to {end:{_MINUTE}}: {why_window(spec, used, has_interval)}.")
    return spec.model_copy(update={"pipeline": run.pipeline, "start": start, "end": end})


def check_kind(spec: RunSpec, kind: str) -> None:
    """Refuse a window or a load in runs that have a window of their own each: all would learn the same."""
    if kind not in ("backfill", "scheduled"):
        return
    which = "backfill" if kind == "backfill" else "schedule"
    if spec.start or spec.end:
        raise UserError(
            f"Every run of a {which} learns from its own window, and start or end would make all learn the same:"
            " leave them empty, or trigger a single run."
        )
    if spec.stress and kind == "backfill":
        raise UserError("A backfill learns from the past, and stress loads the machine now: leave stress off.")


def why_window(spec: RunSpec, interval: tuple[datetime, datetime] | None, scheduled: bool) -> str:
    """Return why a run has the window that it has."""
    if spec.start or spec.end:
        both = spec.start and spec.end
        return "as start and end say" if both else f"as {'start' if spec.start else 'end'} and window_seconds say"
    if interval is not None:
        return "the data interval of the run" if scheduled else "the time of the load phases in schedule"
    return f"the last {spec.window_seconds:,.0f} s (window_seconds) before the run was due"


def _stressed_window(spec: RunSpec) -> tuple[datetime, datetime] | None:
    """Return the time that the load phases span, for a run that names them and nothing else."""
    schedule = read_schedule(spec.schedule)
    return schedule.span() if schedule.phases else None


def plan_window(
    spec: RunSpec,
    now: datetime,
    interval: tuple[datetime, datetime] | None = None,
    before: datetime | None = None,
) -> tuple[datetime, datetime]:
    """Return the window of a run: the requested one, else the data interval, else the time just `before` (or now)."""
    try:
        start, end = _asked_window(spec, now, interval, min(before or now, now))
    except OverflowError:
        raise UserError(
            f"The window ends beyond the calendar: {spec.window_seconds:g} s is too long a window_seconds, which is at"
            f" most {LONGEST_WINDOW / _DAY:g} days."
        ) from None
    if max(start, end) > now:
        raise UserError(
            f"The window lies in the future, from {start:{_MINUTE}} to {end:{_MINUTE}}: it is {now:{_MINUTE}} now."
        )
    if start >= end:
        raise UserError(f"The window has no length: it starts at {start:{_MINUTE}} and ends at {end:{_MINUTE}}.")
    if end - start > LONGEST_WINDOW:
        raise UserError(
            f"The window from {start:{_MINUTE}} to {end:{_MINUTE}} has {(end - start) / _DAY:,.0f} days, and may have"
            f" {LONGEST_WINDOW / _DAY:g}: choose a shorter one."
        )
    if start < EARLIEST:
        raise UserError(
            f"The window starts at {start:{_MINUTE}}, and no Prometheus has samples from before {EARLIEST:%Y-%m-%d}:"
            " choose a later one."
        )
    return start, end


def _asked_window(
    spec: RunSpec, now: datetime, interval: tuple[datetime, datetime] | None, before: datetime
) -> tuple[datetime, datetime]:
    length = timedelta(seconds=spec.window_seconds)
    if spec.start is not None:
        return spec.start, spec.end or min(spec.start + length, now)
    if spec.end is not None:
        return spec.end - length, spec.end
    if interval is not None and interval[0] < interval[1]:
        return interval
    return before - length, before

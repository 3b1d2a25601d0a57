"""The window of a run: the requested one, else its data interval, else the time just before now."""

from __future__ import annotations

from datetime import datetime, timedelta

from kepler_train.errors import UserError
from kepler_train.samples.schedule import read_schedule
from kepler_train.spec import EARLIEST, LONGEST_WINDOW, RunSpec
from kepler_train.workspace import Run

_MINUTE = "%Y-%m-%d %H:%M:%S UTC"
_DAY = timedelta(days=1)


def settle(spec: RunSpec, run: Run, now: datetime, interval: tuple[datetime, datetime] | None) -> RunSpec:
    """Return the spec of a run with its window and its pipeline settled."""
    if "pipeline" in spec.model_fields_set and spec.pipeline != run.pipeline:
        raise UserError(
            f"The run {run.name} is of the pipeline {run.pipeline}, but its parameters name {spec.pipeline}."
        )
    if spec.stress:  # the window is when the stress step ran
        return spec.model_copy(update={"pipeline": run.pipeline})
    has_interval = interval is not None and interval[0] < interval[1]  # that of a manual run has no length
    start, end = plan_window(spec, now, interval if has_interval else _stressed_window(spec))
    return spec.model_copy(update={"pipeline": run.pipeline, "start": start, "end": end})


def _stressed_window(spec: RunSpec) -> tuple[datetime, datetime] | None:
    """Return the time that the load phases span, for a run that names them and nothing else."""
    schedule = read_schedule(spec.schedule)
    return schedule.span() if schedule.phases else None


def plan_window(
    spec: RunSpec, now: datetime, interval: tuple[datetime, datetime] | None = None
) -> tuple[datetime, datetime]:
    """Return the window of a run: the requested one, else the data interval, else the time just before `now`."""
    try:
        start, end = _asked_window(spec, now, interval)
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

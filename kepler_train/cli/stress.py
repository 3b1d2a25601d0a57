"""`kepler-train stress`: load on this machine, phase by phase, with every phase on record."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.cli.files import data_path, named, scratch, whole_file
from kepler_train.cli.options import spec_of
from kepler_train.cli.parameters import given, takes
from kepler_train.errors import UserError
from kepler_train.events import say, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from kepler_train.samples.schedule import Schedule
    from kepler_train.stress.loads import Load
    from kepler_train.stress.plan import StressPlan
    from kepler_train.stress.session import StressSession


@takes("machine_id", "stress_timeout", "stress_break_interval", "idle_collect_interval", "cpu_frequency_enabled")
def stress(
    context: typer.Context,
    load: Annotated[
        list[str], typer.Option(help="A load of stress-ng, as cpu or 'vm-rw;vm-rw-bytes;4G'; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    loads: Annotated[str, typer.Option(help="File of loads, one per line.")] = "",
    command: Annotated[
        list[str], typer.Option(help="A command as a load: 'name=program argument'; may be repeated.")
    ] = [],  # noqa: B006
    job: Annotated[
        list[str], typer.Option(help="A Kubernetes Job as a load: job.yaml or name=job.yaml; may be repeated.")
    ] = [],  # noqa: B006
    instances: Annotated[str, typer.Option(help="How many at once, as 1,2,4; by default up to the CPUs + 8.")] = "",
    output: Annotated[str, typer.Option("-o", "--output", help="Name of the schedule, below DATAPATH.")] = "stress",
    node: Annotated[str, typer.Option(help="Node that the phases run on, as Kepler names it.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the phases and their total time; run nothing.")
    ] = False,
    restore: Annotated[
        bool, typer.Option("--restore", help="Only put back the CPU frequencies that a killed run left.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            envvar="KEPLER_TRAIN_STRESS_STATE",
            help="Folder where the CPU frequencies are kept while they are changed; /run/kepler-train by default.",
        ),
    ] = None,
    sysfs: Annotated[
        Path | None,
        typer.Option(envvar="KEPLER_TRAIN_SYSFS", help="Where sysfs is mounted; /sys by default."),
    ] = None,
) -> None:
    """Put this machine under load, one phase after the other, and write when which load ran.

    Each load runs with more and more instances, each on a CPU of its own, between two idle phases. With --command or
    --job and without --load, only these run. Ctrl-C stops everything and keeps what was measured.
    """
    from kepler_train.stress.loads import unavailable_loads
    from kepler_train.stress.plan import plan_table
    from kepler_train.stress.session import StressSession

    session = StressSession(sysfs, state)
    if restore:
        session.restore()
        return
    chosen = _loads(load, loads, command, job)
    spec = spec_of(given(context))
    plan = session.plan(
        chosen,
        timeout=math.ceil(spec.stress_timeout),
        idle=math.ceil(spec.idle_collect_interval),
        break_seconds=spec.stress_break_interval,
        sweep=spec.cpu_frequency_enabled,
        counts=_counts(instances),
    )
    if dry_run:
        missing = unavailable_loads(chosen)
        for line in plan_table(plan, missing):
            say(line)
        for one, reason in missing.items():
            warn(f"The load {one.name} will be left out: {reason}")
        return
    _run(session, plan, _manifest(output), spec.machine_id, node)


def _loads(load: list[str], file: str, command: list[str], job: list[str]) -> list[Load]:
    from kepler_train.stress.loads import parse_command, parse_job, parse_load, read_loads

    chosen = [parse_load(text) for text in load]
    chosen += read_loads(data_path(file)) if file else []
    chosen += [parse_command(text) for text in command]
    chosen += [parse_job(text) for text in job]
    return list(dict.fromkeys(chosen)) or [parse_load(text) for text in spec_of({}).stress_args]


def _counts(instances: str) -> list[int]:
    parts = [part.strip() for part in instances.split(",")] if instances else []
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise UserError(f"--instances {instances!r}: write whole numbers from 1 on, as 1,2,4.")
    return list(dict.fromkeys(int(part) for part in parts))


def _manifest(output: str) -> Path:
    """Return the file to write; refuse one that cannot be written, or holds anything but an earlier schedule."""
    from kepler_train.samples.schedule import parse_schedule

    path = named(output, ".json")
    if path.exists():
        try:
            parse_schedule(path.read_bytes(), path)
        except (UserError, OSError):
            raise UserError(f"{path} holds something else and is left as it is: choose another --output.") from None
    with scratch(path):  # to hear now that the folder cannot be written, not after the first phase
        return path


def _run(session: StressSession, plan: StressPlan, path: Path, machine_id: str, node: str) -> None:
    from kepler_train.stress.session import check_loaded, phase_counts

    schedule, stopped = session.run(plan, _writer(path), machine_id, node)
    counted = phase_counts(schedule)
    words = ", ".join(f"{count} {status}" for status, count in counted.items())
    say(f"Wrote {path}: {len(schedule.phases)} phases, {words or 'none'}.", **counted)
    if stopped:
        raise typer.Exit(128 + stopped)
    check_loaded(schedule, path)


def _writer(path: Path) -> Callable[[Schedule], None]:
    def write(schedule: Schedule) -> None:
        try:
            with whole_file(path, lambda _: True) as file:  # looked at before the first load
                file.write_text(schedule.model_dump_json(indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"The schedule {path} cannot be written: {error.strerror}.") from None

    return write

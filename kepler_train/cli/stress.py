"""`kepler-train stress`: load on this machine, phase by phase, with every phase on record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.cli.files import data_path, named, scratch, whole_file
from kepler_train.cli.options import Machine, spec_of
from kepler_train.errors import DataError, UserError
from kepler_train.events import say, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from kepler_train.collect.schedule import Schedule
    from kepler_train.collect.stress.frequency import Cpufreq
    from kepler_train.collect.stress.loads import Load
    from kepler_train.collect.stress.plan import Plan


def stress(
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
    timeout: Annotated[int, typer.Option(min=1, help="Length of a load in seconds.")] = 20,
    break_seconds: Annotated[float, typer.Option("--break", min=0, help="Pause between phases in seconds.")] = 5,
    idle: Annotated[int, typer.Option(min=0, help="Length of the idle phases at start and end in seconds.")] = 100,
    instances: Annotated[str, typer.Option(help="How many at once, as 1,2,4; by default up to the CPUs + 8.")] = "",
    frequency_sweep: Annotated[
        bool,
        typer.Option("--frequency-sweep/--no-frequency-sweep", help="Repeat each load at several CPU frequencies."),
    ] = False,
    output: Annotated[str, typer.Option("-o", "--output", help="Name of the schedule, below DATAPATH.")] = "stress",
    machine_id: Machine = "",
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
    sysfs: Annotated[Path, typer.Option(help="Where sysfs is mounted.")] = Path("/sys"),
) -> None:
    """Put this machine under load, one phase after the other, and write when which load ran.

    Each load runs with more and more instances, each on a CPU of its own, between two idle phases. With --command or
    --job and without --load, only these run. Ctrl-C stops everything and keeps what was measured.
    """
    from kepler_train.collect.stress.frequency import Cpufreq
    from kepler_train.collect.stress.loads import lacking
    from kepler_train.collect.stress.plan import shown
    from kepler_train.collect.stress.remembered import STATE_FOLDER
    from kepler_train.collect.stress.stopping import alone

    cpufreq = Cpufreq(sysfs, state or STATE_FOLDER)
    if restore:
        with alone(sysfs):
            _put_back(cpufreq, "There is nothing to put back: no CPU frequency is held.")
        return
    chosen = _loads(load, loads, command, job)
    frequencies, notes = _frequencies(cpufreq, frequency_sweep)
    plan = _plan(chosen, instances, frequencies, timeout, idle, break_seconds)
    if dry_run:
        missing = lacking(chosen)
        for line in shown(plan, missing):
            say(line)
        for one, reason in missing.items():
            warn(f"The load {one.name} will be left out: {reason}")
        return
    _run(plan, chosen, cpufreq, sysfs, _manifest(output), notes, machine_id, node)


def _loads(load: list[str], file: str, command: list[str], job: list[str]) -> list[Load]:
    from kepler_train.collect.stress.loads import parse_command, parse_job, parse_load, read_loads

    chosen = [parse_load(text) for text in load]
    chosen += read_loads(data_path(file)) if file else []
    chosen += [parse_command(text) for text in command]
    chosen += [parse_job(text) for text in job]
    return list(dict.fromkeys(chosen)) or [parse_load(text) for text in spec_of().stress_args]


def _frequencies(cpufreq: Cpufreq, sweep: bool) -> tuple[list[int], list[str]]:
    from kepler_train.collect.stress.frequency import NoSweep

    if not sweep:
        return [], []
    try:
        return cpufreq.sweep(), []
    except NoSweep as why:
        warn(str(why))
        return [], [str(why)]


def _plan(
    loads: list[Load], instances: str, frequencies: list[int], timeout: int, idle: int, break_seconds: float
) -> Plan:
    import os

    from kepler_train.collect.stress.plan import instance_counts, make_plan

    counts = instance_counts(len(os.sched_getaffinity(0)))
    if instances:
        parts = [part.strip() for part in instances.split(",")]
        if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
            raise UserError(f"--instances {instances!r}: write whole numbers from 1 on, as 1,2,4.")
        counts = list(dict.fromkeys(int(part) for part in parts))
    return make_plan(loads, counts, frequencies, timeout=timeout, idle=idle, break_seconds=break_seconds)


def _manifest(output: str) -> Path:
    """The file to write, if it can be written and holds no data but an earlier schedule."""
    from kepler_train.collect.schedule import parse_schedule

    path = named(output, ".json")
    if path.exists():
        try:
            parse_schedule(path.read_bytes(), path)
        except (UserError, OSError):
            raise UserError(f"{path} holds something else and is left as it is: choose another --output.") from None
    with scratch(path):  # to hear now that the folder cannot be written, not after the first phase
        return path


def _put_back(cpufreq: Cpufreq, otherwise: str = "") -> None:
    if not cpufreq.held:
        if otherwise:
            say(otherwise)
        return
    left = cpufreq.put_back()
    if left:
        raise UserError(left)
    say("Put back the CPU frequencies that a killed run had left.")


def _run(
    plan: Plan,
    loads: list[Load],
    cpufreq: Cpufreq,
    sysfs: Path,
    path: Path,
    notes: list[str],
    machine_id: str,
    node: str,
) -> None:
    from kepler_train.collect.machine import this_machine
    from kepler_train.collect.schedule import Schedule
    from kepler_train.collect.stress.loads import check_programs, lacking
    from kepler_train.collect.stress.runner import StressRun
    from kepler_train.collect.stress.stopping import Stopping, alone

    check_programs(loads)
    about = Schedule(machine_id=machine_id, machine=this_machine(), notes=notes)
    with alone(sysfs) as lock, Stopping() as stop:
        _put_back(cpufreq)
        run = StressRun(plan, cpufreq, about, _writer(path), lacking=lacking(loads), node=node)
        schedule = run.run(stop, lock)
    _report(schedule, path)
    if stop.signal:
        raise typer.Exit(128 + stop.signal)
    if not any(phase.load != "idle" for phase in schedule.labelled()) and any(one.kind != "idle" for one in loads):
        raise DataError(f"No load could run on this machine: {path} says why for every phase.")


def _writer(path: Path) -> Callable[[Schedule], None]:
    def write(schedule: Schedule) -> None:
        try:
            with whole_file(path) as file:
                file.write_text(schedule.model_dump_json(indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"The schedule {path} cannot be written: {error.strerror}.") from None

    return write


def _report(schedule: Schedule, path: Path) -> None:
    from collections import Counter

    counted: Counter[str] = Counter(phase.status for phase in schedule.phases)
    words = ", ".join(f"{count} {status}" for status, count in counted.items())
    say(f"Wrote {path}: {len(schedule.phases)} phases, {words or 'none'}.", **counted)

"""`kepler-train data …`, `collect`, `retrain`: collected data in a store, and training from them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import data_path, named, query_samples, scratch, whole_folder
from kepler_train.cli.parameters import given, takes
from kepler_train.errors import UserError
from kepler_train.events import say

if TYPE_CHECKING:
    from datetime import datetime

    from kepler_train.machine.spec import MachineSpec
    from kepler_train.samples.collections import Collection
    from kepler_train.samples.schedule import Schedule
    from kepler_train.spec import RunSpec
    from kepler_train.workspace import FileStore

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Collected data in a folder or a bucket: list, push, pull."
)
Store = Annotated[
    str,
    typer.Option("--store", envvar="KEPLER_TRAIN_DATA", help="Folder or s3://bucket/prefix of collected data."),
]
Machine = Annotated[str, typer.Option("--id", help="Name of the measured machine.")]
Date = Annotated[
    str, typer.Option(help="Name of the collection, as 2026-11-16 or 2026-11-16-night; by default the day it began.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Take the place of other data of that date.")]
Idle = Annotated[str, typer.Option("--idle-query", help="A query made when the machine idled.")]


@app.command("list")
def list_(
    store: Store,
    machine: Annotated[str, typer.Option("--id", help="Machine whose data to list; by default all.")] = "",
    form: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
) -> None:
    """List collections: machine, date, window, size, and what is there beside the samples."""
    from kepler_train.cli.answers import print_json, print_table, size_of, window_of
    from kepler_train.samples.collections import IDLE_QUERY, MACHINE, PHASES, collections_of, machines_in

    if form not in ("table", "json"):
        raise UserError(f"--format {form!r}: choose table or json.")
    place = _open(store)
    machines = [machine] if machine else machines_in(place)
    found = [one for name in machines for one in collections_of(place, name).values()]
    if form == "json":
        print_json({"store": place.uri, "collections": [one.model_dump(mode="json") for one in found]})
        return
    beside = {IDLE_QUERY: "idle", MACHINE: "machine", PHASES: "schedule"}
    print_table(
        ["machine", "date", "window (UTC)", "size", "with"],
        [
            [
                one.machine_id,
                one.date,
                window_of(one.window),
                size_of(one.size),
                ", ".join(word for name, word in beside.items() if one.has(name)),
            ]
            for one in found
        ],
    )
    say(f"{len(found)} collections at {place.uri}.")


@app.command()
def push(
    store: Store,
    machine: Machine,
    query_name: o.Input = "kepler_query",
    idle: Idle = "",
    schedule: Annotated[str, typer.Option(help="File of the load phases that ran.")] = "",
    date: Date = "",
    replace: Replace = False,
) -> None:
    """Store a query and what belongs to it, whole: the machine's spec <id>.json, the schedule, an idle query."""
    from kepler_train.samples.collections import check_name

    check_name(machine, date)
    phases = o.schedule_of(schedule) if schedule else None
    spec = _machine_file(machine, phases)
    with scratch() as folder:
        window = _copy_query(query_name, folder, "kepler_query")
        if idle:
            _copy_query(idle, folder, "idle")
        _push(_open(store), folder, machine, date, window, phases, spec, replace)


@app.command()
def pull(
    store: Store,
    machine: Machine,
    date: Annotated[str, typer.Option(help="Dates, separated by commas; by default the newest.")] = "",
    output: Annotated[str, typer.Option("-o", "--output", help="Folder to write, below DATAPATH.")] = "",
) -> None:
    """Fetch collections, verified by check sum, to <id>/<date>/ below DATAPATH."""
    from kepler_train.samples.collections import find_collections
    from kepler_train.samples.collections import pull as fetch

    place = _open(store)
    dates = [one.strip() for one in date.split(",") if one.strip()]
    wanted = find_collections(place, machine, dates)
    for collection in wanted if dates else wanted[-1:]:
        home = data_path(output or machine) / collection.date
        with whole_folder(home, lambda folder: not any(path.name.startswith(".") for path in folder.iterdir())) as new:
            new.mkdir()
            fetch(place, collection, new)
        say(f"Wrote {home}: {len(collection.files)} files, verified.")


@takes(
    *("prometheus", "start", "end", *o.SAMPLES, "nodes", "dialect"),
    *("stress_timeout", "stress_break_interval", "idle_collect_interval", "cpu_frequency_enabled"),
    energy_sources="",
    feature_groups="",
    window_seconds=None,
    required=["machine_id"],
)
def collect(
    context: typer.Context,
    store: Store,
    stress: Annotated[bool, typer.Option("--stress", help="Stress this machine first, and take that window.")] = False,
    load: Annotated[
        list[str], typer.Option(help="With --stress: a load, as of `kepler-train stress`; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    schedule: Annotated[str, typer.Option(help="File of the load phases; without a window, theirs is taken.")] = "",
    idle: Idle = "",
    date: Date = "",
    replace: Replace = False,
) -> None:
    """Query a window from Prometheus and store it; with --stress put load on this machine first. Nothing is trained."""
    from datetime import UTC
    from datetime import datetime as clock

    from kepler_train.catalog import catalog
    from kepler_train.cli.query import measured_machine
    from kepler_train.plan.window import plan_window
    from kepler_train.query.prometheus import Prometheus
    from kepler_train.query.samples import query_samples as ask
    from kepler_train.samples.collections import check_name
    from kepler_train.samples.metrics import every_group

    options = given(context)
    named_window = any(options[name] for name in ("start", "end", "window_seconds"))
    if load and not stress:
        raise UserError(f"--load {load[0]} is for --stress: add that, or leave it out.")
    if stress and (named_window or schedule):
        raise UserError("--stress is the window: leave out --start-time, --end-time, --interval and --schedule.")
    if not (stress or named_window or schedule):
        raise UserError("Name the window: --start-time and --end-time, --interval, --schedule, or --stress.")
    check_name(options["machine_id"], date)
    place = _open(store)
    spec = o.spec_of(
        options,
        output_types=["AbsPower"],
        energy_sources=options["energy_sources"] or list(catalog().energy_sources),
        feature_groups=options["feature_groups"] or every_group(options["thirdparty_metrics"]),
    )
    server = Prometheus(spec.prometheus, typed=True)
    with scratch() as folder:
        phases = _stress(spec, load) if stress else o.schedule_of(schedule) if schedule else None
        if phases and not named_window:
            start, end = phases.span()
        else:
            start, end = plan_window(spec, clock.now(UTC))
        spec = spec.model_copy(update={"start": start, "end": end})
        machine = phases.machine if phases and phases.machine else measured_machine(spec, server)
        samples = folder / "kepler_query"
        samples.mkdir()
        figures = ask(spec, samples, server=server)
        say(f"collect: {figures['metrics']} metrics, {figures['series']:,} series, {figures['samples']:,} samples")
        if idle:
            _copy_query(idle, folder, "idle")
        _push(place, folder, spec.machine_id, date, (start, end), phases, machine, replace)


def retrain(
    context: typer.Context,
    store: Store,
    machine: Annotated[str, typer.Option("--id", help="Machines whose data to train from, separated by commas.")],
    date: Annotated[str, typer.Option(help="Dates, separated by commas, or all; by default the newest.")] = "",
) -> None:
    """Train from stored data, without a cluster or Prometheus; every other option is one of `kepler-train train`.

    Each machine is trained in turn into the same pipeline, from all of its dates.
    """
    from kepler_train.cli.app import app as commands
    from kepler_train.samples.collections import find_collections
    from kepler_train.samples.collections import pull as fetch

    place = _open(store)
    dates = [one.strip() for one in date.split(",") if one.strip()]
    machines = [one.strip() for one in machine.split(",") if one.strip()]
    if not machines:
        raise UserError("--id names no machine.")
    wanted = {name: find_collections(place, name, [] if dates == ["all"] else dates) for name in machines}
    for name, collections in wanted.items():
        with scratch() as folder:
            homes = []
            for collection in collections if dates else collections[-1:]:
                home = folder / collection.date
                home.mkdir()
                fetch(place, collection, home)
                homes.append(home)
                say(f"retrain: {name} {collection.date}: {len(collection.files)} files, verified")
            arguments = ["train", "--id", name, *_inputs(homes, folder), *context.args]
            typer.main.get_command(commands).main(arguments, prog_name="kepler-train", standalone_mode=False)


def _inputs(homes: list[Path], folder: Path) -> list[str]:
    """Return the options of `train` for collections of one machine: their samples, load phases and idle query."""
    from kepler_train.machine.spec_file import read_machine
    from kepler_train.samples.collections import IDLE_QUERY, MACHINE, PHASES, QUERY
    from kepler_train.samples.schedule import Schedule, read_schedule

    schedules = [read_schedule(str(home / PHASES)) for home in homes if (home / PHASES).exists()]
    machines = [read_machine(home / MACHINE) for home in homes if (home / MACHINE).exists()]
    arguments = ["-i", ",".join(str(_query_in(home, QUERY)) for home in homes)]
    if schedules or machines:
        machine = next((one.machine for one in schedules if one.machine), machines[-1] if machines else None)
        together = Schedule(machine=machine, phases=[phase for one in schedules for phase in one.phases])
        (folder / PHASES).write_text(together.model_dump_json(indent=1), encoding="utf-8")
        arguments += ["--schedule", str(folder / PHASES)]
    idle = [query for home in homes if (query := _query_in(home, IDLE_QUERY)).exists()]
    return [*arguments, "--profile", str(idle[-1])] if idle else arguments


def _query_in(home: Path, name: str) -> Path:
    return home / name if (home / name).is_dir() else home / f"{name}.json"


def _open(uri: str) -> FileStore:
    from kepler_train.workspace import open_store

    return open_store(uri)


def _push(
    store: FileStore,
    folder: Path,
    machine_id: str,
    date: str,
    window: tuple[datetime, datetime],
    phases: Schedule | None,
    machine: MachineSpec | None,
    replace: bool,
) -> Collection:
    from kepler_train.machine.spec_file import machine_text
    from kepler_train.samples.collections import MACHINE, PHASES
    from kepler_train.samples.collections import push as send

    if phases:
        (folder / PHASES).write_text(phases.model_dump_json(indent=1), encoding="utf-8")
    if machine:
        (folder / MACHINE).write_text(machine_text(machine), encoding="utf-8")
    name = date or f"{window[0]:%Y-%m-%d}"
    collection, fresh = send(store, folder, machine_id, name, window, replace=replace)
    place = f"{store.uri}/{machine_id}/data/{name}"
    if fresh:
        say(f"Stored {place}: {len(collection.files)} files, {collection.size:,} bytes.")
    else:
        say(f"{place} has the same data already.")
    return collection


def _copy_query(name: str, folder: Path, as_name: str) -> tuple[datetime, datetime]:
    """Copy a query, in the form in which it is, and return its window."""
    from kepler_train.samples.parquet import window_of

    with query_samples(name) as samples:
        window = window_of(samples)
        source = data_path(name)
        if source.is_dir():
            shutil.copytree(source, folder / as_name)
        else:
            shutil.copyfile(source if source.is_file() else named(name, ".json"), folder / f"{as_name}.json")
    return window


def _machine_file(machine_id: str, phases: Schedule | None) -> MachineSpec | None:
    from kepler_train.samples.schedule import Schedule

    return o.machine_of(machine_id, phases or Schedule())


def _stress(spec: RunSpec, loads: list[str]) -> Schedule:
    """Stress this machine by some loads, or those of the spec; return what ran."""
    import math

    from kepler_train.stress.loads import parse_load
    from kepler_train.stress.session import StressSession, check_loaded

    session = StressSession()
    plan = session.plan(
        [parse_load(text) for text in loads or spec.stress_args],
        timeout=math.ceil(spec.stress_timeout),
        idle=math.ceil(spec.idle_collect_interval),
        break_seconds=spec.stress_break_interval,
        sweep=spec.cpu_frequency_enabled,
    )
    schedule, stopped = session.run(plan, lambda _: None, spec.machine_id, spec.nodes[0] if spec.nodes else "")
    if stopped:
        raise typer.Exit(128 + stopped)
    check_loaded(schedule, "the log above")
    return schedule

"""`kepler-train query`: samples of a window from Prometheus, with the files that other tools of Kepler expect."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import data_path, is_query, named, scratch, whole_file, whole_folder
from kepler_train.cli.machine import write_machine
from kepler_train.cli.parameters import given, takes
from kepler_train.cli.results import is_query_file
from kepler_train.errors import DataError, UserError
from kepler_train.events import say, warn

if TYPE_CHECKING:
    from kepler_train.machine.spec import MachineSpec
    from kepler_train.query.prometheus import Prometheus
    from kepler_train.spec import RunSpec
    from kepler_train.workspace import Figures


class Format(StrEnum):
    """The format of samples."""

    PARQUET = "parquet"
    JSON = "json"


@takes(
    *("prometheus", "start", "end", "machine_id", *o.SAMPLES, "nodes", "dialect"),
    energy_sources="",
    feature_groups="",
    window_seconds=None,
)
def query(
    context: typer.Context,
    output: o.Output = "kepler_query",
    benchmark_window: Annotated[
        str,
        typer.Option("-i", "--input", help="Benchmark or stress manifest whose window is taken from <name>.json."),
    ] = "",
    benchmark: Annotated[str, typer.Option(help="Write the window to <name>.json.")] = "",
    to_estimate: Annotated[
        bool, typer.Option("--to-estimate", help="Machines without a power meter will do: for `kepler-train estimate`.")
    ] = False,
    step: Annotated[
        float, typer.Option(help="Let the server resample to every so many seconds; by default samples come raw.")
    ] = 0,
    form: Annotated[Format, typer.Option("--format", help="Parquet: a folder; JSON: one file.")] = Format.PARQUET,
    to_csv: Annotated[bool, typer.Option("--to-csv", help="Write <output>_csv/<metric>.csv too.")] = False,
) -> None:
    """Collect the samples of a window from Prometheus, as they were scraped.

    All feature groups, power meters and nodes are taken unless some are named. Times are written as
    2026-11-14T02:00:00Z; --interval alone is the time up to now. The machine that --id names is described in <id>.json.
    """
    from datetime import UTC, datetime

    from kepler_train.catalog import catalog
    from kepler_train.plan.window import plan_window
    from kepler_train.query.prometheus import Prometheus
    from kepler_train.samples.benchmark import is_benchmark, read_benchmark, write_benchmark
    from kepler_train.samples.metrics import every_group

    options = given(context)
    if bool(benchmark_window) + any(options[name] for name in ("start", "end", "window_seconds")) != 1:
        raise UserError("Name the window in one way: --start-time and --end-time, --interval, or --input BENCHMARK.")
    if all(options[name] for name in ("start", "end", "window_seconds")):
        raise UserError(
            f"--start-time and --end-time name the window, and --interval {options['window_seconds']:g} says how long"
            " it is once more: leave one of the three out."
        )
    if to_estimate and options["vm_train"]:
        raise UserError("--vm-train is to learn from energy, --to-estimate does without: choose one.")
    if not (step == 0 or 0.001 <= step <= 86400):
        raise UserError(f"--step {step:g}: a step is between 0.001 and 86400 seconds.")
    if benchmark_window:
        options["start"], options["end"] = read_benchmark(named(benchmark_window, ".json"))
    spec = o.spec_of(
        options,
        output_types=["AbsPower"],  # whatever it is for, every group has this one
        energy_sources=options["energy_sources"] or list(catalog().energy_sources),
        feature_groups=options["feature_groups"] or every_group(options["thirdparty_metrics"]),
    )
    start, end = plan_window(spec, datetime.now(UTC))
    spec = spec.model_copy(update={"start": start, "end": end})
    _check_names(output, form, benchmark, benchmark_window, spec.machine_id)
    server = Prometheus(spec.prometheus, typed=True)
    machine = measured_machine(spec, server, benchmark_window) if spec.machine_id else None
    written = _query(spec, server, output, form, step, to_csv, metered=not to_estimate)
    if benchmark:
        with whole_file(named(benchmark, ".json"), is_benchmark) as file:
            write_benchmark(file, start, end)
    say(f"Wrote {written}.")
    if machine:
        write_machine(named(spec.machine_id, ".json"), machine)


def _check_names(output: str, form: Format, benchmark: str, window: str, machine_id: str) -> None:
    """Refuse to write one file over another."""
    from kepler_train.samples.benchmark import is_benchmark

    names = [("--benchmark", benchmark), ("--id", machine_id), ("--output", output if form is Format.JSON else "")]
    taken: dict[Path, str] = {named(window, ".json"): "--input"} if window else {}
    for option, name in names:
        if name and (other := taken.setdefault(named(name, ".json"), option)) != option:
            raise UserError(f"{other} and {option} name the same file {named(name, '.json')}: choose another name.")
    if benchmark and named(benchmark, ".json").exists() and not is_benchmark(named(benchmark, ".json")):
        raise UserError(f"{named(benchmark, '.json')} is no benchmark and is left as it is: choose another name.")


def measured_machine(spec: RunSpec, server: Prometheus, benchmark_window: str = "") -> MachineSpec | None:
    """Return the measured machine as its stress run describes it, else as its exporters do; never this one."""
    from kepler_train.query.machines import exported_machines
    from kepler_train.samples.benchmark import stressed_machine

    if benchmark_window and (machine := stressed_machine(named(benchmark_window, ".json"))):
        return machine
    not_written = f"{named(spec.machine_id, '.json')} is not written, `kepler-train machine` makes it on the machine"
    try:
        machines = exported_machines(spec, server)
    except DataError as error:
        warn(f"{error} So {not_written}.")
        return None
    kinds = set(machines.values())
    if len(kinds) > 1:
        warn(f"{', '.join(machines)} are {len(kinds)} kinds of machines: choose one with --node, for {not_written}.")
        return None
    machine = next(iter(kinds), None)
    if machine is None or not any(machine.attributes().values()):
        warn(f"No exporter tells what kind of machine {', '.join(machines) or spec.machine_id} is: {not_written}.")
        return None
    return machine


def _query(
    spec: RunSpec, server: Prometheus, output: str, form: Format, step: float, to_csv: bool, *, metered: bool
) -> str:
    from kepler_train.query.samples import query_samples
    from kepler_train.samples.csv_export import write_csv
    from kepler_train.samples.kepler_query_json import export_json

    with ExitStack() as outputs:
        # Each appears when all of them are whole.
        table = outputs.enter_context(whole_folder(_csv_folder(output), is_csv)) if to_csv else None
        if form is Format.JSON:
            place = named(output, ".json")
            samples, file = outputs.enter_context(scratch()), outputs.enter_context(whole_file(place, is_query_file))
            figures = query_samples(spec, samples, step, metered=metered, server=server)
            export_json(samples, file)
        else:
            place = data_path(output)
            samples = outputs.enter_context(whole_folder(place, is_query))
            figures = query_samples(spec, samples, step, metered=metered, server=server)
        if table is not None:
            write_csv(samples, table)
    return f"{place}: {_summary(figures)}"


def _csv_folder(output: str) -> Path:
    place = data_path(output.removesuffix(".json").rstrip("/"))
    return place.with_name(f"{place.name}_csv")


def is_csv(folder: Path) -> bool:
    """Return whether a folder holds CSV files and nothing else."""
    return all(file.suffix == ".csv" for file in folder.iterdir())


def _summary(figures: Figures) -> str:
    return f"{figures['metrics']} metrics, {figures['series']:,} series, {figures['samples']:,} samples"

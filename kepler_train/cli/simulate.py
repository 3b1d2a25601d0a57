"""`kepler-train simulate …`: a Kepler node that does not exist, with known truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="A Kepler node that does not exist, with known truth."
)

Duration = Annotated[str, typer.Option(help="Length of the history: 2d, 6h, 90m, 1200s.")]
Start = Annotated[str, typer.Option(help="First scrape, ISO 8601 in UTC; by default the history ends now.")]
Scrape = Annotated[float, typer.Option(help="Scrape interval in seconds.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
Nodes = Annotated[int, typer.Option(help="Nodes in one Prometheus.")]
Containers = Annotated[int, typer.Option(help="Containers at once on each node, at most.")]
Sockets = Annotated[int, typer.Option(help="Sockets of each node.")]
Cores = Annotated[int, typer.Option(help="Cores of each socket.")]
Phase = Annotated[str, typer.Option(help="Length of a stress phase.")]
Idle = Annotated[str, typer.Option(help="Length of the idle phase before and after each stress phase.")]
Sweep = Annotated[bool, typer.Option("--sweep", help="Sweep frequencies instead of leaving them to the governor.")]
Dialect = Annotated[str, typer.Option(help="legacy (Kepler up to 0.9) or current (0.10 and later).")]
Source = Annotated[list[str], typer.Option(help="Meters: one with rapl, one without; may be repeated.")]
Refresh = Annotated[
    float, typer.Option(help="Seconds between readings of the exporter (Kepler: 3 or 5); 0 reads at each scrape.")
]
Skew = Annotated[
    float, typer.Option(help="Seconds that energy is read after the counters of work; --fault skew: 0.4 scrapes.")
]
Fault = Annotated[list[str], typer.Option(help="A fault by name; may be repeated.")]
ContainerSeconds = Annotated[
    bool, typer.Option("--container-seconds", help="Current: kepler_container_cpu_seconds_total, as after 0.11.4.")
]
ProcessEnergy = Annotated[
    bool,
    typer.Option("--process-energy", help="Current: joules and watts of every process too; several times the text."),
]
PackageRatio = Annotated[
    bool, typer.Option("--package-ratio", help="Legacy: kepler_container_cpu_usage_per_package_ratio.")
]
NodeExporter = Annotated[bool, typer.Option("--node-exporter", help="A node_exporter beside Kepler on each node.")]


@app.callback()
def simulate() -> None:
    """A Kepler node that does not exist, with known truth."""


@app.command()
def history(
    out: Annotated[Path, typer.Option(help="OpenMetrics text for promtool.")],
    truth: Annotated[Path | None, typer.Option(help="Parquet: true power of each node.")] = None,
    truth_containers: Annotated[Path | None, typer.Option(help="Parquet: true power of each container.")] = None,
    schedule: Annotated[Path | None, typer.Option(help="JSON: the stress schedule that ran.")] = None,
    duration: Duration = "2d",
    days: Annotated[float, typer.Option(help="Length in days, instead of --duration.")] = 0,
    start: Start = "",
    scrape: Scrape = 15.0,
    seed: Seed = 0,
    nodes: Nodes = 1,
    containers: Containers = 12,
    sockets: Sockets = 2,
    cores: Cores = 8,
    phase: Phase = "10m",
    idle: Idle = "10m",
    sweep: Sweep = False,
    dialect: Dialect = "legacy",
    source: Source = ["rapl-sysfs", "acpi"],  # noqa: B006 - typer copies it
    fault: Fault = [],  # noqa: B006
    container_seconds: ContainerSeconds = False,
    process_energy: ProcessEnergy = False,
    package_ratio: PackageRatio = False,
    node_exporter: NodeExporter = False,
    refresh: Refresh = 0.0,
    skew: Skew = 0.0,
    machine_id: Annotated[str, typer.Option(help="Name of the machine in the schedule.")] = "simulated",
) -> None:
    """Write days of metrics as OpenMetrics text, with the truth behind them.

    Load them with `promtool tsdb create-blocks-from openmetrics --max-block-duration=64h FILE DIR`; without that
    option promtool reads the whole file once for every two hours in it.
    """
    from kepler_train.events import say
    from kepler_train.simulate.faults import DATA_FAULTS, check_faults
    from kepler_train.simulate.history import check_names, exported, write_history, write_schedule
    from kepler_train.simulate.node import run_nodes
    from kepler_train.simulate.options import scenario
    from kepler_train.simulate.truth import write_container_truth, write_node_truth
    from kepler_train.simulate.variant import Variant

    check_names(dialect, source)
    variant = Variant(container_seconds, process_energy, package_ratio, node_exporter)
    faults = check_faults(fault, DATA_FAULTS)
    chosen = scenario(
        duration=f"{days}d" if days else duration,
        start=start,
        scrape=scrape,
        seed=seed,
        nodes=nodes,
        containers=containers,
        sockets=sockets,
        cores=cores,
        phase=phase,
        idle=idle,
        sweep=sweep,
        refresh=refresh,
        skew=skew,
        faults=faults,
    )
    runs = run_nodes(chosen)
    written = write_history(out, exported(runs, dialect, source, faults, seed, variant))
    size = f"{written.series:,} series, {written.samples:,} samples, {written.bytes / 1e6:,.1f} MB"
    say(f"Wrote {out}: {size}.", **asdict(written))
    if truth:
        say(f"Wrote {truth}: {write_node_truth(truth, runs):,} intervals.")
    if truth_containers:
        say(f"Wrote {truth_containers}: {write_container_truth(truth_containers, runs):,} rows.")
    if schedule:
        say(f"Wrote {schedule}: {write_schedule(schedule, runs, machine_id):,} phases.")


@app.command()
def prometheus(
    data: Annotated[Path | None, typer.Option(help="OpenMetrics text of `simulate history`; else made here.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    max_samples: Annotated[int, typer.Option(help="Samples that one query may load.")] = 50_000_000,
    fault: Fault = [],  # noqa: B006
    duration: Duration = "1d",
    start: Start = "",
    scrape: Scrape = 15.0,
    seed: Seed = 0,
    nodes: Nodes = 1,
    containers: Containers = 12,
    sockets: Sockets = 2,
    cores: Cores = 8,
    phase: Phase = "10m",
    idle: Idle = "10m",
    sweep: Sweep = False,
    dialect: Dialect = "legacy",
    source: Source = ["rapl-sysfs", "acpi"],  # noqa: B006
    container_seconds: ContainerSeconds = False,
    process_energy: ProcessEnergy = False,
    package_ratio: PackageRatio = False,
    node_exporter: NodeExporter = False,
    refresh: Refresh = 0.0,
    skew: Skew = 0.0,
) -> None:
    """Serve simulated history on the Prometheus HTTP API, failing as asked.

    Faults of the data are those of `history`; faults of the server are unavailable, slow, truncated,
    too-many-samples, unauthorized and html. `unavailable:2` fails the first two requests only.
    """
    from kepler_train.errors import UserError
    from kepler_train.events import say
    from kepler_train.simulate.faults import DATA_FAULTS, SERVER_FAULTS, check_faults
    from kepler_train.simulate.history import check_names, exported
    from kepler_train.simulate.node import run_nodes
    from kepler_train.simulate.options import scenario
    from kepler_train.simulate.prometheus_server import prometheus_server
    from kepler_train.simulate.store import read_store, store_of
    from kepler_train.simulate.variant import Variant

    check_names(dialect, source)
    check_faults((name.partition(":")[0] for name in fault), [*DATA_FAULTS, *SERVER_FAULTS])
    data_faults = frozenset(name for name in fault if name in DATA_FAULTS)
    if data and data_faults:
        raise UserError(f"--data is served as it is: give --fault {min(data_faults)} to `simulate history` instead.")
    if data:
        store = read_store(data)
    else:
        chosen = scenario(
            duration=duration,
            start=start,
            scrape=scrape,
            seed=seed,
            nodes=nodes,
            containers=containers,
            sockets=sockets,
            cores=cores,
            phase=phase,
            idle=idle,
            sweep=sweep,
            refresh=refresh,
            skew=skew,
            faults=data_faults,
        )
        variant = Variant(container_seconds, process_energy, package_ratio, node_exporter)
        store = store_of(exported(run_nodes(chosen), dialect, source, data_faults, seed, variant))
    server_faults = [name for name in fault if name not in DATA_FAULTS]
    with prometheus_server(store, server_faults, host, port, max_samples) as server:
        say(server.url, series=len(store.series))
        server.wait()


@app.command()
def node(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    meter: Annotated[str, typer.Option(help="sim: a simulated schedule; host: this machine's processes.")] = "sim",
    name: Annotated[str, typer.Option(help="Name of the node.")] = "node-0",
    dialect: Dialect = "legacy",
    source: Source = ["rapl-sysfs", "acpi"],  # noqa: B006
    fault: Fault = [],  # noqa: B006
    container_seconds: ContainerSeconds = False,
    process_energy: ProcessEnergy = False,
    package_ratio: PackageRatio = False,
    seed: Seed = 0,
    containers: Containers = 12,
    sockets: Sockets = 2,
    cores: Cores = 8,
    phase: Phase = "10m",
    idle: Idle = "10m",
    sweep: Sweep = False,
    refresh: Refresh = 0.0,
    skew: Skew = 0.0,
) -> None:
    """Export a live node on /metrics.

    With --meter host its features are the real CPU time of this machine's processes, and so real stress-ng moves a
    virtual power meter; sockets, cores, containers and phases are then this machine's own.
    """
    import time

    from kepler_train.errors import UserError, unknown_name
    from kepler_train.events import say
    from kepler_train.simulate.exporter import Exporter, exporter_server
    from kepler_train.simulate.live import LIVE_TICK, HostNode, LiveNode, SimulatedNode
    from kepler_train.simulate.options import check_refresh, scenario
    from kepler_train.simulate.variant import Variant

    live: LiveNode
    if meter == "host":
        if skew or "skew" in fault:
            raise UserError("--meter host reads energy and work at once: use --meter sim for a skew.")
        check_refresh(refresh)
        live = HostNode(name, seed)
        live.keep_reading(refresh)
    elif meter == "sim":
        chosen = scenario(
            duration="1d",
            # The first reading must be complete when the first scrape comes.
            start=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2 * refresh - abs(skew))),
            scrape=LIVE_TICK,
            seed=seed,
            containers=containers,
            sockets=sockets,
            cores=cores,
            phase=phase,
            idle=idle,
            sweep=sweep,
            refresh=refresh,
            skew=skew,
            faults=frozenset(fault) - {"two-nodes"},
        )
        live = SimulatedNode(chosen, name)
    else:
        raise UserError(unknown_name("meter", meter, ["sim", "host"]))
    variant = Variant(container_seconds, process_energy, package_ratio)
    with exporter_server(Exporter(live, dialect, source, frozenset(fault), variant), host, port) as server:
        say(f"{server.url}/metrics")
        server.wait()


@app.command()
def rapl(
    sysfs: Annotated[Path, typer.Option(help="Folder to keep the powercap tree in; Kepler's --host.sysfs.")],
    truth: Annotated[Path, typer.Option(help="CSV: busy share, power and energy of each zone, a row each tick.")],
    packages: Annotated[int, typer.Option(help="Packages to show; 0 takes this machine's own.")] = 0,
    tick: Annotated[float, typer.Option(help="Seconds between two updates.")] = 0.25,
    max_energy_range_uj: Annotated[
        int, typer.Option(help="Where the counters wrap around, in microjoules.")
    ] = 262_143_328_850,
) -> None:
    """Keep a virtual RAPL meter for a real Kepler until SIGTERM or SIGINT.

    Its energy counters follow this machine's real CPU use by a known law, so that an unmodified Kepler with
    --host.sysfs is a real exporter with a known truth. Started again, it continues tree and truth.
    """
    from kepler_train.errors import UserError
    from kepler_train.events import say
    from kepler_train.simulate.rapl import SHORTEST_TICK, keep, rapl_meter, stop_signals

    if not SHORTEST_TICK <= tick <= 5:
        raise UserError(f"--tick {tick:g} is out of range: give {SHORTEST_TICK} to 5 seconds.")
    with stop_signals() as ended, rapl_meter(sysfs, truth, packages, max_energy_range_uj) as meter:
        names = ", ".join(zone.column for zone in meter.zones)
        say(f"Metering {names} below {sysfs}; start Kepler with --host.sysfs {sysfs}.")
        keep(meter, tick, ended)
    used = {name: energy / 1e6 for name, energy in meter.energy.items()}
    say(
        f"Stopped; {truth} ends at " + ", ".join(f"{name} {joules:.3f} J" for name, joules in used.items()) + ".",
        **used,
    )

"""`kepler-train simulate …`: a Kepler node that does not exist, with known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from kepler_train.simulate.node import Scenario
    from kepler_train.simulate.variant import Variant

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="A Kepler node that does not exist, with known truth."
)

Duration = Annotated[str, typer.Option(help="Length of the history: 2d, 6h, 90m, 1200s.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")]


@dataclass
class NodeOptions:
    """The options of a simulated node."""

    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0
    containers: Annotated[int, typer.Option(help="Containers at once on each node, at most.")] = 12
    sockets: Annotated[int, typer.Option(help="Sockets of each node.")] = 2
    cores: Annotated[int, typer.Option(help="Cores of each socket.")] = 8
    phase: Annotated[str, typer.Option(help="Length of a stress phase.")] = "10m"
    idle: Annotated[str, typer.Option(help="Length of the idle phase before and after each stress phase.")] = "10m"
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Sweep frequencies instead of leaving them to the governor.")
    ] = False
    dialect: Annotated[str, typer.Option(help="legacy (Kepler up to 0.9) or current (0.10 and later).")] = "legacy"
    source: Annotated[list[str], typer.Option(help="Meters: one with rapl, one without; may be repeated.")] = field(
        default_factory=lambda: ["rapl-sysfs", "acpi"]
    )
    fault: Annotated[list[str], typer.Option(help="A fault by name; may be repeated.")] = field(default_factory=list)
    container_seconds: Annotated[
        bool, typer.Option("--container-seconds", help="Current: kepler_container_cpu_seconds_total, as after 0.11.4.")
    ] = False
    process_energy: Annotated[
        bool,
        typer.Option(
            "--process-energy", help="Current: joules and watts of every process too; several times the text."
        ),
    ] = False
    package_ratio: Annotated[
        bool, typer.Option("--package-ratio", help="Legacy: kepler_container_cpu_usage_per_package_ratio.")
    ] = False
    refresh: Annotated[
        float, typer.Option(help="Seconds between readings of the exporter (Kepler: 3 or 5); 0 reads at each scrape.")
    ] = 0.0
    skew: Annotated[
        float, typer.Option(help="Seconds that energy is read after the counters of work; --fault skew: 0.4 scrapes.")
    ] = 0.0

    def scenario(self, **settings: Any) -> Scenario:
        """Return the scenario of these options and of more settings."""
        from kepler_train.simulate.options import scenario

        names = ("seed", "containers", "sockets", "cores", "phase", "idle", "sweep", "refresh", "skew")
        return scenario(**{name: getattr(self, name) for name in names}, **settings)

    def variant(self, *, node_exporter: bool = False) -> Variant:
        """Return the series beyond the usual ones."""
        from kepler_train.simulate.variant import Variant

        return Variant(self.container_seconds, self.process_energy, self.package_ratio, node_exporter)


@dataclass
class HistoryOptions(NodeOptions):
    """The options of a simulated history."""

    start: Annotated[str, typer.Option(help="First scrape, ISO 8601 in UTC; by default the history ends now.")] = ""
    scrape: Annotated[float, typer.Option(help="Scrape interval in seconds.")] = 15.0
    nodes: Annotated[int, typer.Option(help="Nodes in one Prometheus.")] = 1
    node_exporter: Annotated[
        bool, typer.Option("--node-exporter", help="A node_exporter beside Kepler on each node.")
    ] = False

    def history(self, duration: str, faults: frozenset[str]) -> tuple[list[Any], list[Any]]:
        """Return the simulated nodes, and what their exporters showed."""
        from kepler_train.simulate.history import exported
        from kepler_train.simulate.node import run_nodes

        settings = {"duration": duration, "start": self.start, "scrape": self.scrape, "nodes": self.nodes}
        runs = run_nodes(self.scenario(faults=faults, **settings))
        variant = self.variant(node_exporter=self.node_exporter)
        return runs, exported(runs, self.dialect, self.source, faults, self.seed, variant)


def with_options(options: type[NodeOptions]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the fields of `options`; it receives them as its argument `options`."""
    hints = get_type_hints(options, include_extras=True)
    shared = [
        Parameter(
            option.name,
            Parameter.KEYWORD_ONLY,
            default=option.default if option.default_factory is MISSING else option.default_factory(),
            annotation=hints[option.name],
        )
        for option in fields(options)
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [part for part in signature(command, eval_str=True).parameters.values() if part.name != "options"]

        @wraps(command)
        def call(**given: Any) -> None:
            command(options=options(**{option.name: given.pop(option.name) for option in shared}), **given)

        call.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
        return call

    return decorate


@app.callback()
def simulate() -> None:
    """A Kepler node that does not exist, with known truth."""


@app.command()
@with_options(HistoryOptions)
def history(
    out: Annotated[Path, typer.Option(help="OpenMetrics text for promtool.")],
    options: HistoryOptions,
    truth: Annotated[Path | None, typer.Option(help="Parquet: true power of each node.")] = None,
    truth_containers: Annotated[Path | None, typer.Option(help="Parquet: true power of each container.")] = None,
    schedule: Annotated[Path | None, typer.Option(help="JSON: the stress schedule that ran.")] = None,
    duration: Duration = "2d",
    days: Annotated[float, typer.Option(help="Length in days, instead of --duration.")] = 0,
    machine_id: Annotated[str, typer.Option(help="Name of the machine in the schedule.")] = "simulated",
) -> None:
    """Write days of metrics as OpenMetrics text, with the truth behind them.

    Load them with `promtool tsdb create-blocks-from openmetrics --max-block-duration=64h FILE DIR`; without that
    option promtool reads the whole file once for every two hours in it.
    """
    from kepler_train.events import say
    from kepler_train.simulate.faults import DATA_FAULTS, check_faults
    from kepler_train.simulate.history import check_names, write_history, write_schedule
    from kepler_train.simulate.truth import write_container_truth, write_node_truth

    check_names(options.dialect, options.source)
    faults = check_faults(options.fault, DATA_FAULTS)
    runs, exporters = options.history(f"{days}d" if days else duration, faults)
    written = write_history(out, exporters)
    size = f"{written.series:,} series, {written.samples:,} samples, {written.bytes / 1e6:,.1f} MB"
    say(f"Wrote {out}: {size}.", **asdict(written))
    if truth:
        say(f"Wrote {truth}: {write_node_truth(truth, runs):,} intervals.")
    if truth_containers:
        say(f"Wrote {truth_containers}: {write_container_truth(truth_containers, runs):,} rows.")
    if schedule:
        say(f"Wrote {schedule}: {write_schedule(schedule, runs, machine_id):,} phases.")


@app.command()
@with_options(HistoryOptions)
def prometheus(
    options: HistoryOptions,
    data: Annotated[Path | None, typer.Option(help="OpenMetrics text of `simulate history`; else made here.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    max_samples: Annotated[int, typer.Option(help="Samples that one query may load.")] = 50_000_000,
    duration: Duration = "1d",
) -> None:
    """Serve simulated history on the Prometheus HTTP API, failing as asked.

    Faults of the data are those of `history`; faults of the server are unavailable, slow, truncated,
    too-many-samples, unauthorized and html. `unavailable:2` fails the first two requests only.
    """
    from kepler_train.errors import UserError
    from kepler_train.events import say
    from kepler_train.simulate.faults import DATA_FAULTS, SERVER_FAULTS, check_faults
    from kepler_train.simulate.history import check_names
    from kepler_train.simulate.prometheus_server import prometheus_server
    from kepler_train.simulate.store import read_store, store_of

    check_names(options.dialect, options.source)
    check_faults((name.partition(":")[0] for name in options.fault), [*DATA_FAULTS, *SERVER_FAULTS])
    data_faults = frozenset(name for name in options.fault if name in DATA_FAULTS)
    if data and data_faults:
        raise UserError(f"--data is served as it is: give --fault {min(data_faults)} to `simulate history` instead.")
    store = read_store(data) if data else store_of(options.history(duration, data_faults)[1])
    server_faults = [name for name in options.fault if name not in DATA_FAULTS]
    with prometheus_server(store, server_faults, host, port, max_samples) as server:
        say(server.url, series=len(store.series))
        server.wait()


@app.command()
@with_options(NodeOptions)
def node(
    options: NodeOptions,
    host: Host = "127.0.0.1",
    port: Port = 0,
    meter: Annotated[str, typer.Option(help="sim: a simulated schedule; host: this machine's processes.")] = "sim",
    name: Annotated[str, typer.Option(help="Name of the node.")] = "node-0",
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
    from kepler_train.simulate.options import check_refresh

    live: LiveNode
    faults, refresh, skew = frozenset(options.fault), options.refresh, options.skew
    if meter == "host":
        if skew or "skew" in faults:
            raise UserError("--meter host reads energy and work at once: use --meter sim for a skew.")
        check_refresh(refresh)
        live = HostNode(name, options.seed)
        live.keep_reading(refresh)
    elif meter == "sim":
        # The first reading must be complete when the first scrape comes.
        start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2 * refresh - abs(skew)))
        live = SimulatedNode(options.scenario(duration="1d", start=start, scrape=LIVE_TICK, faults=faults), name)
    else:
        raise UserError(unknown_name("meter", meter, ["sim", "host"]))
    exporter = Exporter(live, options.dialect, options.source, faults, options.variant())
    with exporter_server(exporter, host, port) as server:
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

"""Machine specs from Prometheus, by what Kepler and node_exporter tell of machines on which nothing of ours runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kepler_train.catalog import Dialect, catalog
from kepler_train.errors import DataError
from kepler_train.events import warn
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.processor import clock_of, processor_name
from kepler_train.machine.spec import MachineSpec, gibibytes, megahertz
from kepler_train.machine.virtualization import by_firmware
from kepler_train.query.prometheus import Prometheus
from kepler_train.samples.labels import METRIC_NAME, Labels
from kepler_train.samples.nodes import Nodes
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

Row = tuple[Labels, float]

# What Kepler tells of a machine, without its prefix.
_KEPLER = ("node_cpu_info", "build_info", "exporter_build_info")
_UNAME = "node_uname_info"
_LONGEST = 500  # characters of a processor's name or a version
_EXPORTER = (
    _UNAME,
    "node_cpu_info",
    "node_cpu_seconds_total",
    "node_cpu_frequency_max_hertz",
    "node_cpu_scaling_frequency_max_hertz",
    "node_memory_MemTotal_bytes",
    "node_dmi_info",
)


def machines_at(server: Prometheus, time: float, prefix: str = "kepler_") -> dict[str, MachineSpec]:
    """Return the machine of every node that Kepler, or else node_exporter, reports on at `time` (Unix s).

    What neither exporter tells is None.
    """
    labels_of_nodes = {dialect.node_label for dialect in catalog().dialects.values()}
    dialects = {label: _energy_metrics(label, prefix) for label in labels_of_nodes}
    names = {
        *_EXPORTER,
        *(prefix + name for name in _KEPLER),
        *(name for metrics in dialects.values() for name in metrics),
    }
    # One mode of many is enough to count CPUs; metrics without this label have it empty.
    rows = server.instant(f'{{__name__=~"{"|".join(sorted(names))}",mode=~"idle|"}}', time)
    rows_by_metric = {name: [row for row in rows if row[0].get(METRIC_NAME) == name] for name in names}
    machines: dict[str, MachineSpec] = {}
    for label, metrics in dialects.items():
        machines |= _machines(_nodes(label, rows_by_metric, metrics), rows_by_metric, prefix)
    # A Kepler without a meter has no energy to tell of.
    for label, metric in (("node_name", prefix + "node_cpu_info"), ("nodename", _UNAME)):
        machines = machines or _machines(_nodes(label, rows_by_metric, [metric]), rows_by_metric, prefix)
    if not machines:
        raise DataError(
            f"Prometheus at {server.url} knows no machine at that time: neither Kepler nor node_exporter was scraped"
            " in the five minutes before it."
        )
    return dict(sorted(machines.items()))


def _energy_metrics(label: str, prefix: str) -> set[str]:
    """Return Kepler's energy metrics of nodes, in the dialects that name nodes by this label."""
    components = {component for source in catalog().energy_sources.values() for component in source.components}

    def names_of(dialect: Dialect) -> set[str]:
        return {dialect.energy.metric_of(component) for component in components}

    names_by_dialect = (names_of(dialect) for dialect in catalog().dialects.values() if dialect.node_label == label)
    return {prefix + name.removeprefix("kepler_") for names in names_by_dialect for name in names}


def _nodes(label: str, rows_by_metric: dict[str, list[Row]], metrics: Iterable[str]) -> Nodes:
    return Nodes.of(label, (labels for metric in metrics for labels, _ in rows_by_metric[metric]))


def _machines(nodes: Nodes, rows_by_metric: dict[str, list[Row]], prefix: str) -> dict[str, MachineSpec]:
    rows_by_node: dict[str, dict[str, list[Row]]] = {node: {} for node in nodes.names}
    for metric, rows in rows_by_metric.items():
        for node, positions in nodes.split(labels for labels, _ in rows).items():
            rows_by_node[node][metric] = [rows[position] for position in positions]
    return {node: _NodeMetrics(rows, prefix).machine() for node, rows in rows_by_node.items()}


@dataclass(frozen=True)
class _NodeMetrics:
    """The metrics of one node, by name."""

    rows: dict[str, list[Row]]
    prefix: str

    def machine(self) -> MachineSpec:
        """Return the machine that they describe; what neither exporter tells is None."""
        of_kepler = f"{self.prefix}node_cpu_info"
        model = self._label((of_kepler, "model_name"), ("node_cpu_info", "model_name"))
        vendor = self._label((of_kepler, "vendor_id"), ("node_cpu_info", "vendor"))
        versions = [(f"{self.prefix}{name}", "version") for name in ("build_info", "exporter_build_info")]
        product, board = (self._label(("node_dmi_info", label)) for label in ("product_name", "system_vendor"))
        memory = self._highest("node_memory_MemTotal_bytes")
        cpus = self._count((of_kepler, "processor"), ("node_cpu_seconds_total", "cpu"), ("node_cpu_info", "cpu"))
        cores = self._count((of_kepler, "physical_id", "core_id"), ("node_cpu_info", "package", "core"))
        return MachineSpec(
            processor=processor_name(model),
            cores=cpus,
            chips=self._count((of_kepler, "physical_id"), ("node_cpu_info", "package")),
            memory=gibibytes(memory) if memory else None,
            frequency=megahertz(self._clock(model)),
            vendor=processor_name(vendor),
            threads_per_core=cpus // cores if cpus and cores else None,
            kernel=self._label((_UNAME, "release")),
            virtualization=by_firmware(product, board),
            kepler_version=self._label(*versions).removeprefix("v"),
        )

    def _label(self, *candidates: tuple[str, str]) -> str:
        """Return the first value that is not empty of (metric, label)."""
        values = (labels.get(label, "") for metric, label in candidates for labels, _ in self.rows.get(metric, []))
        return next(filter(None, values), "")[:_LONGEST]

    def _count(self, *candidates: tuple[str, ...]) -> int | None:
        """Count the combinations of values of (metric, label, …), of the first candidate that has any."""
        for metric, *names in candidates:
            values = {tuple(labels.get(name, "") for name in names) for labels, _ in self.rows.get(metric, [])}
            if count := sum(map(any, values)):
                return count
        return None

    def _highest(self, metric: str) -> float | None:
        return max((value for _, value in self.rows.get(metric, []) if 0 < value < math.inf), default=None)

    def _clock(self, model: str) -> float | None:
        """Return the clock (MHz) that the hardware allows, else its set limit, else that of the model name.

        The clock that it runs at would change the node type of a machine with its load.
        """
        allowed = self._highest("node_cpu_frequency_max_hertz") or self._highest("node_cpu_scaling_frequency_max_hertz")
        return allowed / 1e6 if allowed else clock_of(model)


def exported_machines(spec: RunSpec, server: Prometheus | None = None) -> dict[str, MachineSpec]:
    """Return the machine of each node of a run as its exporters describe it at the end of the window.

    Without a `server` that of the spec is asked, as a run asks it.
    """
    machines = machines_at(server or Prometheus(spec.prometheus), spec.window[1].timestamp(), spec.metric_prefix)
    return {node: machine for node, machine in machines.items() if not spec.nodes or node in spec.nodes}


def measured_machines(spec: RunSpec, schedule: Schedule) -> dict[str, MachineSpec]:
    """Return what is known of the machine of each node; never the machine that asks.

    The machine that a stress run describes is that of its nodes, or of all when it names none.
    """
    try:
        machines = exported_machines(spec)
    except DataError as error:
        warn(str(error))
        machines = {}
    if schedule.machine:
        stressed = {phase.node for phase in schedule.phases} - {ANY_NODE} or set(machines) or {ANY_NODE}
        machines |= dict.fromkeys(stressed, schedule.machine)
    return machines

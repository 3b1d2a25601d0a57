"""Kepler 0.10 and later: joules by zone, and CPU time of processes, by which it ascribes energy to workloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.activity import SYSTEM_CONTAINER, Container
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.meter import read_energy
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.processes import SimulatedProcess, processes
from kepler_train.simulate.series import Curve, Metric, gauge
from kepler_train.simulate.variant import USUAL, Variant

BEFORE = {"package": 184_467.0, "core": 90_210.0, "uncore": 31_415.0, "dram": 27_182.0}  # J, at the start
LEAST_TERMINATED_JOULES = 10.0  # package; Kepler forgets workloads that used less


def current_families(run: NodeRun, sources: Iterable[str], variant: Variant = USUAL) -> list[Metric]:
    """Return everything one node exports; a source without rapl adds `kepler_platform_watts`."""
    scraped = {"job": "kepler", "instance": run.name}
    target = {**scraped, "node_name": run.name}
    families = _node(run, target) if any("rapl" in source for source in sources) else []
    for source in sources:
        if "rapl" not in source:
            watts = gauge(run.metered_watts("platform"))
            labels = {"source": source, "node_id": "1", "bmc_id": "sim", "chassis_id": "0", **target}
            families.append(Metric("kepler_platform_watts", "gauge", [Curve(labels, run.edges, watts, 1, energy=True)]))
    families.append(Metric("kepler_node_cpu_usage_ratio", "gauge", [Curve(target, run.edges, gauge(run.usage), 6)]))
    # These two carry no node_name, in the real exporter neither.
    families.append(Metric("kepler_node_cpu_info", "gauge", [*_cpu_info(run, scraped)]))
    build = {"arch": "amd64", "goversion": "go1.24.6", "version": "v0.11.4", **scraped}
    families.append(Metric("kepler_build_info", "gauge", [Curve(build, run.edges, np.ones(len(run.edges)))]))
    return families + _workloads(run, target, variant)


def _node(run: NodeRun, target: dict[str, str]) -> list[Metric]:
    total, watts = _energy_families("node_cpu")
    active, active_watts = _energy_families("node_cpu_active")
    idle, idle_watts = _energy_families("node_cpu_idle")
    for zone in RAPL_COMPONENTS:
        path = f"aggregated-{zone}" if run.machine.sockets > 1 else "/sys/class/powercap/intel-rapl:0"
        labels = {"zone": zone, "path": path, **target}
        joules, at_work = read_energy(zone, run.energy[zone]).sum(axis=0), run.active_energy[zone]
        metered, working = run.metered_watts(zone), np.diff(at_work) / run.tick
        total.curves.append(Curve(labels, run.edges, joules + BEFORE[zone], 6, survives_restart=True, energy=True))
        active.curves.append(Curve(labels, run.edges, at_work, 3, energy=True))
        idle.curves.append(Curve(labels, run.edges, run.energy[zone].sum(axis=0) - at_work, 3, energy=True))
        watts.curves.append(Curve(labels, run.edges, gauge(metered), 3, energy=True))
        active_watts.curves.append(Curve(labels, run.edges, gauge(working), 3, energy=True))
        idle_watts.curves.append(Curve(labels, run.edges, gauge(metered - working), 3, energy=True))
    return [total, watts, active, active_watts, idle, idle_watts]


def _energy_families(of: str) -> tuple[Metric, Metric]:
    return Metric(f"kepler_{of}_joules_total", "counter"), Metric(f"kepler_{of}_watts", "gauge")


def _cpu_info(run: NodeRun, scraped: dict[str, str]) -> Iterable[Curve]:
    for cpu in range(run.machine.cores):
        labels = {
            "processor": str(cpu),
            "vendor_id": "GenuineSimulated",
            "model_name": "Simulated CPU @ 3.60GHz",
            "physical_id": str(cpu % run.machine.sockets),
            "core_id": str(cpu // run.machine.sockets),
            **scraped,
        }
        yield Curve(labels, run.edges, np.ones(len(run.edges)))


def _workloads(run: NodeRun, target: dict[str, str], variant: Variant) -> list[Metric]:
    """Return the series of processes, containers and pods; a process outside containers has no container."""
    seconds = Metric("kepler_process_cpu_seconds_total", "counter")
    container_seconds = Metric("kepler_container_cpu_seconds_total", "counter")
    energy = {level: _energy_families(f"{level}_cpu") for level in ("process", "container", "pod")}
    for container_run, members in processes(run):
        container = container_run.container
        cpu = container_run.counters["bpf_cpu_time_ms"] / 1000
        for process in members:
            labels = _process_labels(container, process) | target
            edges = run.edges[process.first : process.last + 1]
            seconds.curves.append(Curve(labels, edges, process.part(cpu, container), 2, survives_restart=True))
            if variant.process_energy:
                used = {zone: process.part(container_run.shared_energy[zone], container) for zone in RAPL_COMPONENTS}
                _add_energy(energy["process"], run, labels, edges, used)
        if container.container_id == SYSTEM_CONTAINER:
            continue
        pod_id = f"{container.container_id}-pod"
        of_container = {
            "container_id": container.container_id,
            "container_name": container.name,
            "runtime": "containerd",
            "pod_id": pod_id,
            **target,
        }
        of_pod = {"pod_id": pod_id, "pod_name": container.pod, "pod_namespace": container.namespace, **target}
        edges = run.edges[container.first : container.last + 1]
        _add_energy(energy["container"], run, of_container, edges, container_run.shared_energy)
        _add_energy(energy["pod"], run, of_pod, edges, container_run.shared_energy)
        container_seconds.curves.append(Curve(of_container, edges, cpu, 2, survives_restart=True))
    families = [seconds, *(family for pair in energy.values() for family in pair if family.curves)]
    return [*families, container_seconds] if variant.container_seconds else families


def _add_energy(
    into: tuple[Metric, Metric],
    run: NodeRun,
    labels: dict[str, str],
    edges: Floats,
    used: Mapping[str, Floats],
) -> None:
    """Add joules and watts in every zone, as running and, at the one scrape after its end, as terminated."""
    ended = edges[-1] < run.edges[-1] and used["package"][-1] - used["package"][0] > LEAST_TERMINATED_JOULES
    for zone in RAPL_COMPONENTS:
        for family, values in zip(into, (used[zone], gauge(np.diff(used[zone]) / run.tick)), strict=True):
            running = {**labels, "state": "running", "zone": zone}
            family.curves.append(Curve(running, edges, values, 3, energy=True))
            if ended:
                gone = {**labels, "state": "terminated", "zone": zone}
                family.curves.append(Curve(gone, edges, values, 3, energy=True, once_after=run.scrape))


def _process_labels(container: Container, process: SimulatedProcess) -> dict[str, str]:
    labels = {"pid": str(process.pid), "comm": process.comm, "exe": process.exe}
    if container.container_id == SYSTEM_CONTAINER:
        return {**labels, "type": "regular"}
    return {**labels, "type": "container", "container_id": container.container_id}

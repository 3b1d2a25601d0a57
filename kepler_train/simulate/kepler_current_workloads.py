"""Kepler 0.10 and later: CPU time of processes, and the energy it ascribes to workloads in proportion to it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kepler_train.simulate.activity import Array, Container
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.processes import SYSTEM, SimulatedProcess, processes
from kepler_train.simulate.series import Curve, Family, gauge
from kepler_train.simulate.variant import Variant

LEAST_TERMINATED_JOULES = 10.0  # package; Kepler forgets workloads that used less


def workloads(run: NodeRun, target: dict[str, str], variant: Variant) -> list[Family]:
    """Return the series of processes, containers and pods; a process outside containers has no container."""
    seconds = Family("kepler_process_cpu_seconds_total", "counter")
    container_seconds = Family("kepler_container_cpu_seconds_total", "counter")
    energy = {level: _energy_families(level) for level in ("process", "container", "pod")}
    for container_run, members in processes(run):
        container = container_run.container
        cpu = container_run.counters["bpf_cpu_time_ms"] / 1000
        for process in members:
            labels = _process_labels(container, process) | target
            edges = run.edges[process.first : process.last + 1]
            seconds.curves.append(Curve(labels, edges, process.part(cpu, container), 2, survives_restart=True))
            if variant.process_energy:
                used = {zone: process.part(container_run.shared_energy[zone], container) for zone in RAPL_COMPONENTS}
                _add_energy(energy["process"], run, labels, (process.first, process.last), used)
        if container.container_id == SYSTEM:
            continue
        pod_id = f"{container.container_id}-pod"
        of_container = {
            "container_id": container.container_id,
            "container_name": container.name,
            "runtime": "containerd",
            "pod_id": pod_id,
        }
        of_pod = {"pod_id": pod_id, "pod_name": container.pod, "pod_namespace": container.namespace}
        _add_energy(
            energy["container"],
            run,
            of_container | target,
            (container.first, container.last),
            container_run.shared_energy,
        )
        _add_energy(energy["pod"], run, of_pod | target, (container.first, container.last), container_run.shared_energy)
        edges = run.edges[container.first : container.last + 1]
        container_seconds.curves.append(Curve(of_container | target, edges, cpu, 2, survives_restart=True))
    families = [seconds, *(family for pair in energy.values() for family in pair if family.curves)]
    return [*families, container_seconds] if variant.container_seconds else families


def _energy_families(level: str) -> tuple[Family, Family]:
    return Family(f"kepler_{level}_cpu_joules_total", "counter"), Family(f"kepler_{level}_cpu_watts", "gauge")


def _add_energy(
    into: tuple[Family, Family],
    run: NodeRun,
    labels: dict[str, str],
    life: tuple[int, int],
    used: Mapping[str, Array],
) -> None:
    """Add joules and watts in every zone, as running and, at the one scrape after its end, as terminated."""
    joules, watts = into
    first, last = life
    edges = run.edges[first : last + 1]
    ended = last < len(run.edges) - 1 and used["package"][-1] - used["package"][0] > LEAST_TERMINATED_JOULES
    for zone in RAPL_COMPONENTS:
        power = gauge(np.diff(used[zone]) / run.tick)
        joules.curves.append(Curve({**labels, "state": "running", "zone": zone}, edges, used[zone], 3, energy=True))
        watts.curves.append(Curve({**labels, "state": "running", "zone": zone}, edges, power, 3, energy=True))
        if ended:
            for family, values in ((joules, used[zone]), (watts, power)):
                gone = {**labels, "state": "terminated", "zone": zone}
                family.curves.append(Curve(gone, edges, values, 3, energy=True, once_after=run.scrape))


def _process_labels(c: Container, process: SimulatedProcess) -> dict[str, str]:
    labels = {"pid": str(process.pid), "comm": process.comm, "exe": process.exe}
    if c.container_id == SYSTEM:
        return {**labels, "type": "regular"}
    return {**labels, "type": "container", "container_id": c.container_id}

"""Kepler 0.10 and later: joules by zone, CPU seconds by process, shares of node energy for workloads."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kepler_train.simulate.activity import Array, Container
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.meter import read_energy
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.series import Curve, Family

PORT = 28282
SHARED_ZONES = ("package", "dram")  # of containers and pods; the real exporter has all, at twice the text
BEFORE = {"package": 184_467.0, "core": 90_210.0, "uncore": 31_415.0, "dram": 27_182.0, "platform": 0.0}  # J


def families(run: NodeRun, sources: Iterable[str]) -> list[Family]:
    """Everything one node exports; a source without rapl adds `kepler_platform_watts`."""
    target = {"job": "kepler", "instance": run.name, "node_name": run.name}
    found = _node(run, target) if any("rapl" in source for source in sources) else []
    for source in sources:
        if "rapl" not in source:
            watts = _gauge(run.metered_watts("platform"))
            labels = {"source": source, "node_id": "1", "bmc_id": "sim", "chassis_id": "0", **target}
            found.append(Family("kepler_platform_watts", "gauge", [Curve(labels, run.edges, watts, 1)]))
    found.append(Family("kepler_node_cpu_usage_ratio", "gauge", [Curve(target, run.edges, _gauge(run.usage), 6)]))
    found.append(Family("kepler_node_cpu_info", "gauge", [*_cpu_info(run, target)]))
    return found + _workloads(run, target)


def _node(run: NodeRun, target: dict[str, str]) -> list[Family]:
    total = Family("kepler_node_cpu_joules_total", "counter")
    watts = Family("kepler_node_cpu_watts", "gauge")
    active = Family("kepler_node_cpu_active_joules_total", "counter")
    idle = Family("kepler_node_cpu_idle_joules_total", "counter")
    for zone in RAPL_COMPONENTS:
        path = f"aggregated-{zone}" if run.machine.sockets > 1 else "/sys/class/powercap/intel-rapl:0"
        labels = {"zone": zone, "path": path, **target}
        joules, at_work = read_energy(zone, run.energy[zone]).sum(axis=0), run.active_energy[zone]
        total.curves.append(Curve(labels, run.edges, joules + BEFORE[zone], 6, survives_restart=True))
        watts.curves.append(Curve(labels, run.edges, _gauge(run.metered_watts(zone)), 3))
        active.curves.append(Curve(labels, run.edges, at_work, 3))
        idle.curves.append(Curve(labels, run.edges, run.energy[zone].sum(axis=0) - at_work, 3))
    return [total, watts, active, idle]


def _cpu_info(run: NodeRun, target: dict[str, str]) -> Iterable[Curve]:
    for cpu in range(run.machine.cores):
        labels = {
            "processor": str(cpu),
            "vendor_id": "GenuineSimulated",
            "model_name": "Simulated CPU @ 3.60GHz",
            "physical_id": str(cpu % run.machine.sockets),
            "core_id": str(cpu // run.machine.sockets),
            **target,
        }
        yield Curve(labels, run.edges, np.ones(len(run.edges)))


def _workloads(run: NodeRun, target: dict[str, str]) -> list[Family]:
    """CPU time of processes, and the energy that Kepler ascribes to them in proportion to it."""
    seconds = Family("kepler_process_cpu_seconds_total", "counter")
    joules = Family("kepler_container_cpu_joules_total", "counter")
    pods = Family("kepler_pod_cpu_joules_total", "counter")
    for pid, done in enumerate(run.containers, start=1000):
        c = done.container
        edges = run.edges[c.first : c.last + 1]
        cpu = done.counters["bpf_cpu_time_ms"] / 1000
        seconds.curves.append(Curve(_process(c, pid) | target, edges, cpu, 2, survives_restart=True))
        if c.container_id == "system_processes":
            continue
        pod_id = f"{c.container_id}-pod"
        of_container = {"container_id": c.container_id, "container_name": c.name, "runtime": "containerd"}
        of_pod = {"pod_id": pod_id, "pod_name": c.pod, "pod_namespace": c.namespace, "state": "running"}
        for zone in SHARED_ZONES:
            used = done.shared_energy[zone]
            labels = {**of_container, "state": "running", "zone": zone, "pod_id": pod_id, **target}
            joules.curves.append(Curve(labels, edges, used, 3))
            pods.curves.append(Curve({**of_pod, "zone": zone, **target}, edges, used, 3))
    return [seconds, joules, pods]


def _process(c: Container, pid: int) -> dict[str, str]:
    if c.container_id == "system_processes":
        return {"pid": "1", "comm": "systemd", "exe": "/usr/lib/systemd/systemd", "type": "regular"}
    comm = c.name.replace("stress-", "stress-ng-")
    return {
        "pid": str(pid),
        "comm": comm[:15],
        "exe": f"/usr/bin/{comm}",
        "type": "container",
        "container_id": c.container_id,
    }


def _gauge(per_tick: Array) -> Array:
    return np.concatenate([per_tick[:1], per_tick])

"""Kepler 0.10 and later: joules by zone, usage and CPUs of the node; its processes are in `current_workloads`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kepler_train.simulate.kepler_current_workloads import workloads
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.meter import read_energy
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.series import Curve, Family, gauge
from kepler_train.simulate.variant import USUAL, Variant

PORT = 28282
BEFORE = {"package": 184_467.0, "core": 90_210.0, "uncore": 31_415.0, "dram": 27_182.0, "platform": 0.0}  # J


def current_families(run: NodeRun, sources: Iterable[str], variant: Variant = USUAL) -> list[Family]:
    """Return everything one node exports; a source without rapl adds `kepler_platform_watts`."""
    scraped = {"job": "kepler", "instance": run.name}
    target = {**scraped, "node_name": run.name}
    families = _node(run, target) if any("rapl" in source for source in sources) else []
    for source in sources:
        if "rapl" not in source:
            watts = gauge(run.metered_watts("platform"))
            labels = {"source": source, "node_id": "1", "bmc_id": "sim", "chassis_id": "0", **target}
            families.append(Family("kepler_platform_watts", "gauge", [Curve(labels, run.edges, watts, 1, energy=True)]))
    families.append(Family("kepler_node_cpu_usage_ratio", "gauge", [Curve(target, run.edges, gauge(run.usage), 6)]))
    # These two carry no node_name, in the real exporter neither.
    families.append(Family("kepler_node_cpu_info", "gauge", [*_cpu_info(run, scraped)]))
    build = {"arch": "amd64", "goversion": "go1.24.6", "version": "v0.11.4", **scraped}
    families.append(Family("kepler_build_info", "gauge", [Curve(build, run.edges, np.ones(len(run.edges)))]))
    return families + workloads(run, target, variant)


def _node(run: NodeRun, target: dict[str, str]) -> list[Family]:
    total, active, idle = (
        Family(f"kepler_node_cpu_{part}joules_total", "counter") for part in ("", "active_", "idle_")
    )
    watts, active_watts, idle_watts = (
        Family(f"kepler_node_cpu_{part}watts", "gauge") for part in ("", "active_", "idle_")
    )
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

"""Kepler up to 0.9: hardware counters, BPF and interrupts per container, joules by mode and socket."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.meter import read_energy
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.series import Curve, Family

PORT = 9102
FEATURES = (
    "bpf_block_irq",
    "bpf_cpu_time_ms",
    "bpf_net_rx_irq",
    "bpf_net_tx_irq",
    "bpf_page_cache_hit",
    "cache_miss",
    "cpu_cycles",
    "cpu_instructions",
)


def families(run: NodeRun, sources: Iterable[str]) -> list[Family]:
    """Everything one node exports."""
    target = {"job": "kepler", "instance": run.name}
    found = [_feature(run, feature, target) for feature in FEATURES]
    for source in sources:
        components = RAPL_COMPONENTS if "rapl" in source else ("platform",)
        found += [_joules(run, component, source, target) for component in components]
    info = {"cpu_architecture": "Simulated", "components_power_source": ",".join(sources), **target}
    ones = np.ones(len(run.edges))
    found.append(Family("kepler_node_node_info", "gauge", [Curve(info, run.edges, 0 * ones)]))
    hertz = np.concatenate([run.frequency_mhz[:1], run.frequency_mhz]) * 1e6
    cpus = [
        Curve({"cpu": str(cpu), **target}, run.edges, hertz) for cpu in range(run.machine.sockets)
    ]  # neighbouring CPUs are on different sockets: one of each is enough
    found.append(Family("kepler_node_cpu_scaling_frequency_hertz", "gauge", cpus))
    return found


def _feature(run: NodeRun, feature: str, target: dict[str, str]) -> Family:
    family = Family(f"kepler_container_{feature}_total", "counter")
    for done in run.containers:
        c = done.container
        labels = {
            "container_id": c.container_id,
            "pod_name": c.pod,
            "container_name": c.name,
            "container_namespace": c.namespace,
            **target,
        }
        family.curves.append(Curve(labels, run.edges[c.first : c.last + 1], done.counters[feature]))
    return family


def _joules(run: NodeRun, component: str, source: str, target: dict[str, str]) -> Family:
    family = Family(f"kepler_node_{component}_joules_total", "counter")
    for socket, (used, idle) in enumerate(zip(run.energy[component], run.idle_energy[component], strict=True)):
        place = {} if component == "platform" else {"package": str(socket)}
        for mode, joules in (("idle", idle), ("dynamic", used - idle)):
            labels = {"source": source, "mode": mode, **place, **target}
            family.curves.append(Curve(labels, run.edges, read_energy(component, joules), decimals=3))
    return family

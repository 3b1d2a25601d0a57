"""Kepler up to 0.9: hardware counters, BPF and interrupts per container, joules by mode and socket."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kepler_train.simulate.activity import Container, share_of
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.meter import read_energy
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.series import Curve, Metric, gauge
from kepler_train.simulate.variant import USUAL, Variant

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


def legacy_families(run: NodeRun, sources: Iterable[str], variant: Variant = USUAL) -> list[Metric]:
    """Return everything one node exports."""
    target = {"job": "kepler", "instance": run.name}
    families = [_feature(run, feature, target) for feature in FEATURES]
    for source in sources:
        components = RAPL_COMPONENTS if "rapl" in source else ("platform",)
        families += [_joules(run, component, source, target) for component in components]
    info = {"cpu_architecture": "Simulated", "components_power_source": ",".join(sources), **target}
    ones = np.ones(len(run.edges))
    families.append(Metric("kepler_node_node_info", "gauge", [Curve(info, run.edges, 0 * ones)]))
    build = {"goarch": "amd64", "goos": "linux", "goversion": "go1.21.5", "revision": "unknown", "version": "v0.7.12"}
    families.append(Metric("kepler_exporter_build_info", "gauge", [Curve(build | target, run.edges, ones)]))
    hertz = gauge(run.frequency_mhz) * 1e6
    cpus = [
        Curve({"cpu": str(cpu), **target}, run.edges, hertz) for cpu in range(run.machine.sockets)
    ]  # neighbouring CPUs are on different sockets: one of each is enough
    families.append(Metric("kepler_node_cpu_scaling_frequency_hertz", "gauge", cpus))
    return [*families, _package_ratio(run, target)] if variant.package_ratio else families


def _feature(run: NodeRun, feature: str, target: dict[str, str]) -> Metric:
    family = Metric(f"kepler_container_{feature}_total", "counter")
    for container_run in run.containers:
        container = container_run.container
        edges = run.edges[container.first : container.last + 1]
        family.curves.append(Curve(_container_labels(container) | target, edges, container_run.counters[feature]))
    return family


def _container_labels(c: Container) -> dict[str, str]:
    return {
        "container_id": c.container_id,
        "pod_name": c.pod,
        "container_name": c.name,
        "container_namespace": c.namespace,
    }


def _package_ratio(run: NodeRun, target: dict[str, str]) -> Metric:
    """Return the CPU time of containers on each socket as shares of the node's; all together add up to 1."""
    family = Metric("kepler_container_cpu_usage_per_package_ratio", "gauge")
    for container_run in run.containers:
        container = container_run.container
        share = share_of(container.busy, run.busy[container.first : container.last])
        for socket, part in enumerate(container.shares):
            labels = {**_container_labels(container), "pkg_id": str(socket), **target}
            family.curves.append(
                Curve(labels, run.edges[container.first : container.last + 1], gauge(share * part), decimals=6)
            )
    return family


def _joules(run: NodeRun, component: str, source: str, target: dict[str, str]) -> Metric:
    family = Metric(f"kepler_node_{component}_joules_total", "counter")
    for socket, (used, idle) in enumerate(zip(run.energy[component], run.idle_energy[component], strict=True)):
        place = {} if component == "platform" else {"package": str(socket)}
        for mode, joules in (("idle", idle), ("dynamic", used - idle)):
            labels = {"source": source, "mode": mode, **place, **target}
            family.curves.append(Curve(labels, run.edges, read_energy(component, joules), decimals=3, energy=True))
    return family

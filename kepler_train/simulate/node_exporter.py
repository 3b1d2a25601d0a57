"""A node_exporter beside Kepler: what a VM sees of itself, consistent with what the containers did.

Series carry `instance` and `job` and no name of the node, as in the real one. All CPU modes but idle and iowait add
up to the node's busy cores; everything else follows CPU time and interrupts at fixed rates.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.activity import Container, share_of
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.series import Curve, Metric, gauge
from kepler_train.simulate.workloads import STRESS_LOADS

PORT = 9100
OFFSET_SECONDS = 7.0  # after Kepler's scrape
GIB = 2.0**30
MEMORY = 64 * GIB
_COMPUTING = {"user": 0.97, "system": 0.03}  # of a stressor's CPU time
_SERVING = {"user": 0.70, "nice": 0.01, "system": 0.24, "softirq": 0.05}  # of everybody else's
_IOWAIT = 2e-4  # s a block interrupt
_BLOCK_BYTES = {"read": 4096.0, "written": 12288.0}  # a block interrupt
_PACKET_BYTES = 900.0  # a network interrupt


def node_exporter_families(run: NodeRun) -> list[Metric]:
    """Return everything one node's node_exporter exports."""
    target = {"instance": f"{run.name}:{PORT}", "job": "node"}
    busy = _counted(run, "bpf_cpu_time_ms") / 1000  # CPU seconds
    block, received, sent = (_counted(run, f"bpf_{name}") for name in ("block_irq", "net_rx_irq", "net_tx_irq"))

    def by_device(name: str, values: dict[str, Floats], decimals: int = 0) -> Metric:
        curves = [_curve(run, {"device": device, **target}, v, decimals) for device, v in values.items()]
        return Metric(name, "counter", curves)

    def plain(name: str, values: Floats) -> Metric:
        return Metric(name, "counter" if name.endswith("_total") else "unknown", [_curve(run, target, values)])

    # A volume lies on the disk and repeats it; loopback is no network.
    families = [_cpu_seconds(run, target, block)]
    for direction, size in _BLOCK_BYTES.items():
        families.append(by_device(f"node_disk_{direction}_bytes_total", {"sda": block * size, "dm-0": block * size}))
    families.append(
        by_device("node_disk_io_time_seconds_total", {"sda": block * _IOWAIT, "dm-0": block * _IOWAIT}, decimals=3)
    )
    for direction, packets in (("receive", received), ("transmit", sent)):
        families.append(by_device(f"node_network_{direction}_packets_total", {"eth0": packets, "lo": packets / 4}))
        bytes_ = packets * _PACKET_BYTES
        families.append(by_device(f"node_network_{direction}_bytes_total", {"eth0": bytes_, "lo": bytes_ / 4}))
    interrupts = block + received + sent
    families += [
        plain("node_context_switches_total", 1.5 * interrupts + 250 * busy),
        plain("node_intr_total", interrupts + 250 * busy),
        plain("node_vmstat_pgfault", 600 * busy),
    ]
    return [*families, *_memory(run, target), _uname(run, target)]


def _cpu_seconds(run: NodeRun, target: dict[str, str], block: Floats) -> Metric:
    """Return the time of each CPU by mode; a socket's work lies evenly on its CPUs."""
    sockets, ticks = run.machine.sockets, len(run.busy)
    by_mode = {mode: np.zeros((sockets, ticks)) for mode in ("user", "nice", "system", "irq", "softirq", "steal")}
    for container_run in run.containers:
        container = container_run.container
        for mode, part in _modes(container).items():
            by_mode[mode][:, container.first : container.last] += part * np.outer(container.shares, container.busy)
    work = np.sum([*by_mode.values()], axis=0)
    scale = share_of(_fitted(work, run.machine.cores_per_socket), work)
    by_cpu = {mode: values * scale / run.machine.cores_per_socket for mode, values in by_mode.items()}
    free = np.clip(1 - np.sum([*by_cpu.values()], axis=0), 0, None)
    by_cpu["iowait"] = np.minimum(np.diff(block) / run.tick * _IOWAIT / run.machine.cores, free)
    by_cpu["idle"] = free - by_cpu["iowait"]
    family = Metric("node_cpu_seconds_total", "counter")
    for mode, shares in by_cpu.items():
        seconds = np.concatenate([np.zeros((sockets, 1)), np.cumsum(shares * run.tick, axis=1)], axis=1)
        for cpu in range(run.machine.cores):
            labels = {"cpu": str(cpu), "mode": mode, **target}
            family.curves.append(_curve(run, labels, seconds[cpu % sockets], 2))
    return family


def _modes(c: Container) -> dict[str, float]:
    return _COMPUTING if c.workload.name in STRESS_LOADS else _SERVING


def _fitted(work: Floats, cores: int) -> Floats:
    """Return busy cores by socket, with the work that a full socket cannot do moved to the others."""
    full = np.minimum(work, cores)
    over, free = (work - full).sum(axis=0), cores - full
    room = free.sum(axis=0)
    taken = share_of(np.minimum(over, room), room)
    return np.asarray(full + free * taken)


def _memory(run: NodeRun, target: dict[str, str]) -> Iterable[Metric]:
    used = np.full(len(run.busy), 2 * GIB)
    for container_run in run.containers:
        container = container_run.container
        used[container.first : container.last] += (0.2 + 1.5 * container.workload.memory_bound) * GIB
    amounts = {"MemTotal": np.full(len(used), MEMORY), "MemAvailable": MEMORY - used, "Active": used / 2}
    for name, amount in amounts.items():
        yield Metric(f"node_memory_{name}_bytes", "gauge", [_curve(run, target, gauge(amount))])


def _uname(run: NodeRun, target: dict[str, str]) -> Metric:
    labels = {"domainname": "(none)", "machine": "x86_64", "nodename": run.name, "release": "6.1.0", "sysname": "Linux"}
    return Metric("node_uname_info", "gauge", [_curve(run, {**labels, **target}, np.ones(len(run.edges)))])


def _counted(run: NodeRun, feature: str) -> Floats:
    """Return a feature summed over all containers, counted from the start of the run."""
    total = np.zeros(len(run.edges))
    for container_run in run.containers:
        container, grown = container_run.container, container_run.counters[feature] - container_run.counters[feature][0]
        total[container.first : container.last + 1] += grown
        total[container.last + 1 :] += grown[-1]
    return total


def _curve(run: NodeRun, labels: dict[str, str], values: Floats, decimals: int = 0) -> Curve:
    return Curve(labels, run.edges, values, decimals, survives_restart=True)

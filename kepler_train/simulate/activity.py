"""Containers over time: when they run, on which socket, and how busy they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.schedule import IDLE, SimulatedPhase
from kepler_train.simulate.workloads import BACKGROUND, JOB, STRESS_LOADS, SYSTEM, Workload

SYSTEM_CONTAINER = "system_processes"  # what runs outside of containers
MISS_SATURATION = 400.0  # million cache misses per second at which a socket's memory bus is half stalled


@dataclass(frozen=True)
class Container:
    """One container of one node, alive over ticks `first` to `last` (exclusive)."""

    container_id: str
    pod: str
    name: str
    namespace: str
    workload: Workload
    shares: tuple[float, ...]  # of its CPU time on each socket; they add up to 1
    first: int
    last: int
    busy: Floats  # cores, one value per tick of its life

    @property
    def key(self) -> str:
        """Return its name as extraction spells it: container id/pod/container/namespace."""
        return f"{self.container_id}/{self.pod}/{self.name}/{self.namespace}"


def wander(rng: np.random.Generator, mean: float, length: int, spread: float, memory: float = 0.9) -> Floats:
    """Return a positive rate around `mean` that drifts: the exponential of a first-order autoregression."""
    noise = rng.normal(0, spread * np.sqrt(1 - memory**2), length)
    noise[0] = rng.normal(0, spread)
    # The recursion x[t] = memory·x[t-1] + noise[t], as a convolution that forgets after 64 ticks.
    kernel = memory ** np.arange(min(64, length))
    drift = np.convolve(noise, kernel)[:length]
    return np.asarray(mean * np.exp(drift - spread**2 / 2))


def make_containers(
    machine: Machine, phases: list[SimulatedPhase], ticks: int, at_once: int, tick: float, rng: np.random.Generator
) -> list[Container]:
    """Return at most `at_once` containers at a time: background, a job that comes and goes, up to two stressors."""
    even = tuple([1 / machine.sockets] * machine.sockets)
    name, busy = SYSTEM_CONTAINER, wander(rng, 0.10, ticks, 0.15)
    containers = [Container(name, name, name, "system", SYSTEM, even, 0, ticks, busy)]

    def start(
        pod: str, name: str, namespace: str, mix: Workload, shares: tuple[float, ...], first: int, busy: Floats
    ) -> None:
        container_id = rng.bytes(6).hex()
        containers.append(Container(container_id, pod, name, namespace, mix, shares, first, first + len(busy), busy))

    for index in range(at_once - 4):
        pod, namespace, mix, mean = BACKGROUND[index % len(BACKGROUND)]
        copy = index // len(BACKGROUND)
        start(f"{pod}-{copy}" if copy else pod, pod, namespace, mix, even, 0, wander(rng, mean, ticks, 0.15))
    for number, (first, last) in enumerate(_job_times(ticks, tick, rng)):
        start(f"report-{number}", "report", "batch", JOB, even, first, wander(rng, 0.2, last - first, 0.1))
    free = np.full(ticks, float(machine.cores))
    for c in containers:
        free[c.first : c.last] -= c.busy
    for number, phase in enumerate(p for p in phases if p.load != IDLE):
        mix = STRESS_LOADS[phase.load]
        first_half = (phase.instances + 1) // 2
        for part, (cpus, first_cpu) in enumerate(((first_half, 0), (phase.instances - first_half, first_half))):
            if cpus:
                demand = wander(rng, 0.97 * cpus, phase.last - phase.first, 0.006)
                # Pinned instances get what the others leave of the machine, never more than their own CPUs.
                available = np.minimum(free[phase.first : phase.last] / phase.instances, 1) * cpus
                busy = np.minimum(demand, available)
                shares = machine.socket_shares(cpus, first_cpu)
                start(f"stress-{number}-{part}", f"stress-{phase.load}", "stress", mix, shares, phase.first, busy)
    return containers


def _job_times(ticks: int, tick: float, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return when a job runs: about every hour, for 5 to 12 minutes."""
    times, at = [], rng.uniform(0, 1800)
    while (first := int(at / tick)) < ticks:
        length = rng.uniform(300, 720)
        last = min(first + max(int(length / tick), 1), ticks)
        times.append((first, last))
        at += length + rng.uniform(2400, 4200)
    return times


def share_of(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, and 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


@dataclass(frozen=True)
class Drivers:
    """The quantities that power depends on, by socket (rows) and tick (columns)."""

    busy: Floats  # cores
    instructions: Floats  # 10⁹ per second
    misses: Floats  # 10⁶ cache misses per second


def drivers(containers: list[Container], ghz: Floats, sockets: int) -> tuple[list[Drivers], Drivers]:
    """Return the drivers of each container over its life, and of the whole node.

    A crowded memory bus slows memory-bound mixes: instructions per cycle fall with the misses that all
    containers of the socket ask for.
    """
    demand = np.zeros((sockets, len(ghz)))
    for c in containers:
        rate = c.busy * ghz[c.first : c.last] * c.workload.ipc * c.workload.misses / 1000
        demand[:, c.first : c.last] += np.outer(c.shares, rate)
    pressure = demand / MISS_SATURATION
    each = []
    total = Drivers(*(np.zeros((sockets, len(ghz))) for _ in range(3)))
    for c in containers:
        life = slice(c.first, c.last)
        busy = np.outer(c.shares, c.busy)
        ipc = c.workload.ipc / (1 + c.workload.memory_bound * pressure[:, life])
        instructions = busy * ghz[life] * ipc
        part = Drivers(busy, instructions, instructions * c.workload.misses / 1000)
        each.append(part)
        total.busy[:, life] += part.busy
        total.instructions[:, life] += part.instructions
        total.misses[:, life] += part.misses
    return each, total


def feature_rates(container: Container, part: Drivers, ghz: Floats) -> dict[str, Floats]:
    """Return what Kepler counts for one container, per second."""
    busy = part.busy.sum(axis=0)
    instructions = part.instructions.sum(axis=0)
    mix = container.workload
    return {
        "bpf_cpu_time_ms": busy * 1e3,
        "bpf_page_cache_hit": instructions * 1e3 * mix.hits,
        "bpf_block_irq": busy * mix.block_irq,
        "bpf_net_rx_irq": busy * mix.net_rx_irq,
        "bpf_net_tx_irq": busy * mix.net_tx_irq,
        "cache_miss": part.misses.sum(axis=0) * 1e6,
        "cpu_cycles": busy * ghz * 1e9,
        "cpu_instructions": instructions * 1e9,
    }

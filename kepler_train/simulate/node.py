"""One simulated node: its containers, true power and metered energy over a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kepler_train.simulate.activity import Array, Container, Drivers, drivers, feature_rates, make_containers
from kepler_train.simulate.machine import COMPONENTS, Machine
from kepler_train.simulate.meter import metered_energy
from kepler_train.simulate.power import attributed_power, dynamic_power
from kepler_train.simulate.schedule import Phase, make_schedule


@dataclass(frozen=True)
class Scenario:
    """What is simulated. Times in seconds, `start` as Unix time; a tick is one scrape interval."""

    start: float
    duration: float
    scrape: float = 15.0
    seed: int = 0
    nodes: int = 1
    containers: int = 12
    machine: Machine = field(default_factory=Machine)
    phase: float = 600.0
    idle: float = 600.0
    sweep: bool = False

    @property
    def ticks(self) -> int:
        """Whole scrape intervals in the duration."""
        return int(self.duration / self.scrape)


@dataclass(frozen=True)
class ContainerRun:
    """What one container did: Kepler's counters at the edges of its ticks, and its true dynamic power (W)."""

    container: Container
    counters: dict[str, Array]
    watts: dict[str, Array]


@dataclass(frozen=True)
class NodeRun:
    """What one node did. Ticks lie between `edges` (Unix seconds), so edges are one more than ticks."""

    name: str
    machine: Machine
    edges: Array
    phases: list[Phase]
    frequency_mhz: Array  # per tick
    busy: Array  # cores, per tick
    containers: list[ContainerRun]
    dynamic_watts: dict[str, Array]  # true, per tick, whole node
    energy: dict[str, Array]  # metered (J) by socket and edge; platform has one row

    @property
    def tick(self) -> float:
        """Length of a tick (s)."""
        return float(self.edges[1] - self.edges[0])

    def true_watts(self, component: str) -> Array:
        """Idle + dynamic (W) per tick."""
        return np.asarray(self.machine.idle(component) + self.dynamic_watts[component])

    def metered_watts(self, component: str) -> Array:
        """What the meter says (W) per tick."""
        return np.asarray(np.diff(self.energy[component].sum(axis=0)) / self.tick)


def run_nodes(scenario: Scenario) -> list[NodeRun]:
    """Every node of the scenario; the same scenario gives the same numbers."""
    return [run_node(scenario, index) for index in range(scenario.nodes)]


def run_node(scenario: Scenario, index: int = 0) -> NodeRun:
    """One node. Each has a scrape offset of its own, as Prometheus spreads its targets; the first has none."""
    rng = np.random.default_rng([scenario.seed, index])
    machine, ticks, tick = scenario.machine, scenario.ticks, scenario.scrape
    edges = scenario.start + (index * 4.2) % tick + tick * np.arange(ticks + 1)
    phases = make_schedule(
        machine,
        ticks,
        rng,
        phase_ticks=max(round(scenario.phase / tick), 1),
        idle_ticks=max(round(scenario.idle / tick), 1),
        sweep=scenario.sweep,
    )
    frequency = np.concatenate([np.full(p.last - p.first, float(p.frequency_mhz)) for p in phases])
    ghz = frequency / 1000
    containers = make_containers(machine, phases, ticks, scenario.containers, tick, rng)
    each, total = drivers(containers, ghz, machine.sockets)
    dynamic = dynamic_power(total, ghz)
    idle = {name: machine.idle(name) / (1 if name == "platform" else machine.sockets) for name in COMPONENTS}
    energy = {name: metered_energy(name, idle[name] + dynamic[name], tick, rng) for name in COMPONENTS}
    return NodeRun(
        name=f"node-{index}",
        machine=machine,
        edges=np.round(edges, 3),
        phases=phases,
        frequency_mhz=frequency,
        busy=total.busy.sum(axis=0),
        containers=[
            _container_run(container, own, total, ghz, tick) for container, own in zip(containers, each, strict=True)
        ],
        dynamic_watts={name: watts.sum(axis=0) for name, watts in dynamic.items()},
        energy=energy,
    )


def _container_run(container: Container, own: Drivers, node: Drivers, ghz: Array, tick: float) -> ContainerRun:
    life = slice(container.first, container.last)
    cut = Drivers(node.busy[:, life], node.instructions[:, life], node.misses[:, life])
    rates = feature_rates(container, own, ghz[life])
    counters = {name: np.concatenate([[0.0], np.cumsum(rate * tick)]) for name, rate in rates.items()}
    return ContainerRun(container, counters, attributed_power(own, cut, ghz[life]))

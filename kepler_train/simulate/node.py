"""One simulated node: its containers, true power and metered energy over time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.activity import Container, Drivers, drivers, feature_rates, make_containers, share_of
from kepler_train.simulate.machine import COMPONENTS, Machine
from kepler_train.simulate.meter import metered_joules, read_energy
from kepler_train.simulate.power import attributed_power, true_dynamic_power
from kepler_train.simulate.schedule import SimulatedPhase, make_schedule


@dataclass(frozen=True)
class Scenario:
    """The settings of a simulation. Times in seconds, `start` as Unix time.

    The exporter reads meter and counters every `refresh` seconds (0: at each scrape), energy `skew` seconds after
    work. A tick, over which every load is constant, is one scrape interval, or a part of it no longer than a refresh.
    """

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
    refresh: float = 0.0
    skew: float = 0.0

    @property
    def steps(self) -> int:
        """Return the ticks in a scrape interval."""
        within_skew = 5 if self.skew else 1  # so that load also changes between the two readings
        return max(math.ceil(self.scrape / self.refresh) if self.refresh else 1, within_skew)

    @property
    def tick(self) -> float:
        """Return the length of a tick (s)."""
        return self.scrape / self.steps

    @property
    def ticks(self) -> int:
        """Return the ticks of all whole scrape intervals in the duration."""
        return int(self.duration / self.scrape) * self.steps


@dataclass(frozen=True)
class ContainerRun:
    """The counters of one container at the edges of its ticks, and its true dynamic power (W)."""

    container: Container
    counters: dict[str, Floats]
    shared_energy: dict[str, Floats]  # J: what current Kepler ascribes to it, by CPU time
    watts: dict[str, Floats]


@dataclass(frozen=True)
class NodeRun:
    """The history of one node. Ticks lie between `edges` (Unix seconds), so edges are one more than ticks.

    Energies are noisy but not yet cut to the meter's quanta; by socket and edge, platform has one row.
    """

    name: str
    machine: Machine
    edges: Floats
    phases: list[SimulatedPhase]
    frequency_mhz: Floats  # per tick
    busy: Floats  # cores, per tick
    containers: list[ContainerRun]
    dynamic_watts: dict[str, Floats]  # true, per tick, whole node
    energy: dict[str, Floats]  # J, metered
    idle_energy: dict[str, Floats]  # J, what the idle machine would have used of it
    active_energy: dict[str, Floats]  # J of the node and edge, the share of busy CPUs
    steps: int = 1  # ticks in a scrape interval
    refresh: float = 0.0  # s between readings of the exporter; 0: it reads at each scrape
    phase: float = 0.0  # Unix s of one of its readings
    skew: float = 0.0  # s that energy is read after work

    @property
    def tick(self) -> float:
        """Return the length of a tick (s)."""
        return float(self.edges[1] - self.edges[0])

    @property
    def scrape(self) -> float:
        """Return the time between scrapes (s), to the microsecond: single steps of Unix times are not exact enough."""
        return round(float(self.edges[-1] - self.edges[0]) / (len(self.edges) - 1) * self.steps, 6)

    @property
    def scrape_edges(self) -> Floats:
        """Return when it is scraped without faults (Unix s)."""
        return self.edges[:: self.steps]

    @property
    def usage(self) -> Floats:
        """Return the busy share of all CPUs per tick, 0 to 1."""
        return np.clip(self.busy / self.machine.cores, 0, 1)

    def true_watts(self, component: str) -> Floats:
        """Return idle + dynamic power (W) per tick."""
        return np.asarray(self.machine.idle(component) + self.dynamic_watts[component])

    def metered_watts(self, component: str) -> Floats:
        """Return the power that the meter shows (W) per tick."""
        return np.asarray(np.diff(read_energy(component, self.energy[component]).sum(axis=0)) / self.tick)


def run_nodes(scenario: Scenario) -> list[NodeRun]:
    """Return every node of the scenario; the same scenario gives the same numbers."""
    return [run_node(scenario, index) for index in range(scenario.nodes)]


def run_node(scenario: Scenario, index: int = 0) -> NodeRun:
    """Return one node. Each has its own scrape offset, as Prometheus spreads its targets; the first has none."""
    rng = np.random.default_rng([scenario.seed, index])
    machine, ticks, tick, steps = scenario.machine, scenario.ticks, scenario.tick, scenario.steps
    begin = scenario.start + (index * 4.2) % scenario.scrape
    scraped = np.round(begin + scenario.scrape * np.arange(ticks // steps + 1), 3)
    edges = np.append((scraped[:-1, None] + tick * np.arange(steps)).ravel(), scraped[-1])
    phases = make_schedule(
        machine,
        ticks,
        rng,
        phase_ticks=max(round(scenario.phase / tick), 1),
        idle_ticks=max(round(scenario.idle / tick), 1),
        sweep=scenario.sweep,
    )
    frequency = np.concatenate([np.full(p.last - p.first, float(p.frequency_mhz)) for p in phases])
    containers = make_containers(machine, phases, ticks, scenario.containers, tick, rng)
    run = make_run(f"node-{index}", machine, edges, phases, frequency, containers, rng)
    # The exporter's clock knows nothing of Prometheus': it is never in step with the scrapes.
    offset = np.random.default_rng([scenario.seed, index, 4]).uniform(0.1, 0.9) * scenario.refresh
    phase = round(float(edges[0]) + offset, 3)
    return replace(run, steps=steps, refresh=scenario.refresh, phase=phase, skew=scenario.skew)


def make_run(
    name: str,
    machine: Machine,
    edges: Floats,
    phases: list[SimulatedPhase],
    frequency_mhz: Floats,
    containers: list[Container],
    rng: np.random.Generator,
) -> NodeRun:
    """Return what these containers make the machine do, and what its meters show; all counters begin at 0."""
    tick, ghz = float(edges[1] - edges[0]), frequency_mhz / 1000
    each, total = drivers(containers, ghz, machine.sockets)
    dynamic = true_dynamic_power(total, ghz)
    busy = total.busy.sum(axis=0)
    energy, idle_energy, active_energy = {}, {}, {}
    for component in COMPONENTS:
        idle = machine.idle(component) / len(dynamic[component])
        used = metered_joules(component, idle + dynamic[component], tick, rng)
        energy[component] = _counted(used)
        idle_energy[component] = _counted(np.minimum(used, idle * tick))
        active_energy[component] = _counted(used.sum(axis=0) * np.clip(busy / machine.cores, 0, 1))
    return NodeRun(
        name=name,
        machine=machine,
        edges=edges,
        phases=phases,
        frequency_mhz=frequency_mhz,
        busy=busy,
        containers=[
            _container_run(container, part, total, ghz, tick, active_energy)
            for container, part in zip(containers, each, strict=True)
        ],
        dynamic_watts={component: watts.sum(axis=0) for component, watts in dynamic.items()},
        energy=energy,
        idle_energy=idle_energy,
        active_energy=active_energy,
    )


def _container_run(
    container: Container, part: Drivers, node: Drivers, ghz: Floats, tick: float, active: dict[str, Floats]
) -> ContainerRun:
    life = slice(container.first, container.last)
    cut = Drivers(node.busy[:, life], node.instructions[:, life], node.misses[:, life])
    rates = feature_rates(container, part, ghz[life])
    share = share_of(part.busy.sum(axis=0), cut.busy.sum(axis=0))
    edges = slice(container.first, container.last + 1)
    return ContainerRun(
        container,
        counters={name: _counted(rate * tick) for name, rate in rates.items()},
        shared_energy={name: _counted(np.diff(joules[edges]) * share) for name, joules in active.items()},
        watts=attributed_power(part, cut, ghz[life]),
    )


def _counted(per_tick: Floats) -> Floats:
    """Return a counter at the edges of its ticks, from 0."""
    start = np.zeros((*per_tick.shape[:-1], 1))
    return np.concatenate([start, np.cumsum(per_tick, axis=-1)], axis=-1)


def continued(run: NodeRun, before: NodeRun) -> NodeRun:
    """Return the same run, its counters going on where `before` ended; containers are matched by id."""
    known = {container_run.container.container_id: container_run for container_run in before.containers}

    def on(counters: dict[str, Floats], last: dict[str, Floats]) -> dict[str, Floats]:
        return {name: values + last[name][..., -1:] for name, values in counters.items()}

    containers = [
        replace(
            container_run,
            counters=on(container_run.counters, known[container_run.container.container_id].counters),
            shared_energy=on(container_run.shared_energy, known[container_run.container.container_id].shared_energy),
        )
        if container_run.container.container_id in known
        else container_run
        for container_run in run.containers
    ]
    return replace(
        run,
        containers=containers,
        energy=on(run.energy, before.energy),
        idle_energy=on(run.idle_energy, before.idle_energy),
        active_energy=on(run.active_energy, before.active_energy),
    )

"""The simulated stress schedule: phases of one load, and idle between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kepler_train.simulate.machine import Machine
from kepler_train.simulate.workloads import STRESS_LOADS

IDLE = "idle"


@dataclass(frozen=True)
class SimulatedPhase:
    """One load on `instances` CPUs at one frequency, over ticks `first` to `last` (exclusive)."""

    load: str
    instances: int
    frequency_mhz: int
    first: int
    last: int

    @property
    def name(self) -> str:
        """Return the name for people: `cpu x4 @2400MHz`, or `idle`."""
        return IDLE if self.load == IDLE else f"{self.load} x{self.instances} @{self.frequency_mhz}MHz"


def instances_of_phases(cores: int) -> list[int]:
    """Return 1, 2, 4, 8, 16, 24, … up to the number of CPUs."""
    counts = [n for n in (1, 2, 4, 8) if n <= cores] + list(range(16, cores + 1, 8))
    return counts if counts[-1] == cores else [*counts, cores]


def make_schedule(
    machine: Machine,
    ticks: int,
    rng: np.random.Generator,
    *,
    phase_ticks: int = 40,
    idle_ticks: int = 40,
    sweep: bool = False,
) -> list[SimulatedPhase]:
    """Return idle first, then every (load, instances[, frequency]) in random order with idle between, repeated.

    The order is drawn anew in each round, so that any part of the history holds a mix of loads. Without `sweep`
    the frequency is the governor's for that many busy cores.
    """
    combinations = [
        (load, instances, frequency)
        for load in STRESS_LOADS
        for instances in instances_of_phases(machine.cores)
        for frequency in (machine.sweep_mhz() if sweep else (machine.governed_mhz(instances),))
    ]
    idle_mhz = machine.governed_mhz(0)
    phases: list[SimulatedPhase] = []
    at = 0

    def add(load: str, instances: int, frequency: int, length: int) -> None:
        nonlocal at
        end = min(at + length, ticks)
        if end > at:
            phases.append(SimulatedPhase(load, instances, frequency, at, end))
        at = end

    add(IDLE, 0, idle_mhz, idle_ticks)
    while at < ticks:
        for pick in rng.permutation(len(combinations)):
            load, instances, frequency = combinations[pick]
            add(load, instances, frequency, phase_ticks)
            add(IDLE, 0, idle_mhz, idle_ticks)
    return phases


def iso(seconds: float) -> str:
    """Return a Unix time as `2026-11-14T00:20:00Z`, with milliseconds only where there are any."""
    moment = datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC)
    spec = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=spec).replace("+00:00", "Z")


def phase_records(node: str, edges: np.ndarray, phases: list[SimulatedPhase]) -> list[dict[str, Any]]:
    """Return the phases of one node as the schedule file holds them."""
    return [
        {
            "name": phase.name,
            "load": phase.load,
            "instances": phase.instances,
            "frequency_mhz": phase.frequency_mhz,
            "node": node,
            "start": iso(edges[phase.first]),
            "end": iso(edges[phase.last]),
        }
        for phase in phases
    ]

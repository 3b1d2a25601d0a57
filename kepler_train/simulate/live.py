"""Live nodes: a simulated schedule, or this machine's own processes."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from kepler_train.errors import UserError
from kepler_train.simulate.activity import SYSTEM_CONTAINER, Container
from kepler_train.simulate.cpu_usage import Ticks, cpu_ticks
from kepler_train.simulate.host_processes import (
    STRESS,
    TICKS_PER_SECOND,
    GroupClock,
    HostProcess,
    load_of,
    read_processes,
)
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.node import NodeRun, Scenario, continued, make_run, run_node
from kepler_train.simulate.workloads import STRESS_LOADS, SYSTEM, Workload, blend

LIVE_TICK = 5.0  # s: a simulated node's load changes that often, whoever scrapes it how often


class SimulatedNode:
    """The schedule of `simulate history`, played at the speed of the clock and without end."""

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._scenario, self._name = scenario, name
        self._lock = threading.Lock()
        self._run = replace(run_node(scenario), name=name)

    def run(self) -> NodeRun:
        """Return the stretch of time that now is in."""
        with self._lock:
            while time.time() > self._run.edges[-1]:
                self._scenario = replace(self._scenario, start=float(self._run.edges[-1]), seed=self._scenario.seed + 1)
                self._run = self._next()
            return self._run

    def _next(self) -> NodeRun:
        following = continued(replace(run_node(self._scenario), name=self._name), self._run)
        return replace(following, phase=self._run.phase)  # the exporter's clock goes on too


class HostNode:
    """A virtual power meter moved by the CPU time of this machine's processes.

    Features and power follow from busy cores and instruction mix as everywhere else; the mix of stress-ng is that
    of its stressors, everything else is `system`. The frequency is the governor's for that many busy cores.
    """

    def __init__(self, name: str, seed: int = 0, proc: Path = Path("/proc")) -> None:
        self._name, self._proc, self._rng = name, proc, np.random.default_rng(seed)
        try:
            self._ticks = self._cpu_ticks()
        except OSError as error:
            raise UserError(f"--meter host needs {proc / 'stat'}: {error.strerror}. Use --meter sim.") from error
        self._machine = Machine(sockets=1, cores_per_socket=len(self._ticks))
        self._lock = threading.Lock()
        self._refreshed = False
        self._clock = GroupClock()
        self._mix = STRESS_LOADS["cpu"]
        self._workers: dict[tuple[int, int], float] = {}
        self._at = time.time()
        self._clock.advance(self._stress())
        self._last = self._step(self._at + 0.001, 0.0, 0.0)

    def run(self) -> NodeRun:
        """Return the node up to this moment or to the last refresh: two edges, the one before and that."""
        return self._last if self._refreshed else self._read()

    def _read(self) -> NodeRun:
        with self._lock:
            now = time.time()
            if now - self._at >= 0.2:  # /proc counts in hundredths of a second
                ticks = self._cpu_ticks()
                # A CPU that was offline until now tells only what it has done since boot.
                grown = sum(busy - self._ticks[cpu][0] for cpu, (busy, _) in ticks.items() if cpu in self._ticks)
                stress = self._clock.advance(self._stress())
                system = max(grown / TICKS_PER_SECOND - stress, 0)
                self._last = continued(self._step(now, stress, system), self._last)
                self._at, self._ticks = now, ticks
            return self._last

    def keep_reading(self, refresh: float = 0.0) -> threading.Thread:
        """Read the machine in the background, so that processes that end are not missed for long.

        With a refresh interval (s) these readings are what scrapes show.
        """
        self._refreshed = bool(refresh)

        def read() -> None:
            while True:
                time.sleep(refresh or 1.0)
                self._read()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        return reader

    def _cpu_ticks(self) -> dict[int, Ticks]:
        return cpu_ticks((self._proc / "stat").read_text())

    def _stress(self) -> list[HostProcess]:
        members = [p for p in read_processes(self._proc) if p.name.startswith(STRESS)]
        seconds_by_mix: dict[Workload, float] = {}
        for p in members:
            growth = p.own - self._workers.get((p.pid, p.started), 0.0)
            if growth > 0 and p.name != STRESS:  # the bare name is the parent that waits
                mix = STRESS_LOADS[load_of(p.name, STRESS_LOADS) or "cpu"]
                seconds_by_mix[mix] = seconds_by_mix.get(mix, 0.0) + growth
        self._workers = {(p.pid, p.started): p.own for p in members}
        if seconds_by_mix:
            self._mix = blend(STRESS, seconds_by_mix)
        return members

    def _step(self, now: float, stress: float, system: float) -> NodeRun:
        """Return one tick from the last moment to `now`, in which these CPU seconds were used."""
        length = now - self._at
        cores = self._machine.cores
        # Counters of hundredths may promise more than the CPUs can do in so short a time; power must not.
        limit = min(1.0, cores * length / max(stress + system, 1e-9))
        containers = [
            _container(SYSTEM_CONTAINER, "system", SYSTEM, system * limit / length),
            _container(STRESS, "stress", self._mix, stress * limit / length),
        ]
        mhz = self._machine.governed_mhz((stress + system) * limit / length)
        edges = np.array([self._at, now])
        return make_run(self._name, self._machine, edges, [], np.array([float(mhz)]), containers, self._rng)


LiveNode = SimulatedNode | HostNode


def _container(name: str, namespace: str, mix: Workload, busy: float) -> Container:
    return Container(name, name, name, namespace, mix, (1.0,), 0, 1, np.array([busy]))

"""The processes of containers: several at a time, and workers that come and go."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.simulate.activity import SYSTEM_CONTAINER, Container
from kepler_train.simulate.node import ContainerRun, NodeRun

_SYSTEM_SHARES = {"systemd": 0.2, "kubelet": 0.5, "containerd": 0.3}
_MAIN_SHARE = 0.4  # of a container's CPU time; its two workers have the rest
_FIRST_PID = 1000
_WORKER_SECONDS = (600.0, 5400.0)  # a worker lives for between ten and ninety minutes


@dataclass(frozen=True)
class SimulatedProcess:
    """One process: a fixed share of its container's CPU time over ticks `first` to `last` (exclusive)."""

    pid: int
    comm: str
    exe: str
    share: float
    first: int
    last: int

    def part(self, counter: Floats, container: Container) -> Floats:
        """Return its part of a counter of the container, at the edges of its own life; it begins at 0."""
        during_life = counter[self.first - container.first : self.last - container.first + 1]
        # What the container had counted when the run began is its first processes' too.
        before = during_life[0] if self.first > container.first else 0.0
        return np.asarray(self.share * (during_life - before))


def processes(run: NodeRun) -> Iterator[tuple[ContainerRun, list[SimulatedProcess]]]:
    """Yield every container with its processes; their shares add up to 1 at any time, and pids are the node's."""
    pid = _FIRST_PID
    for container_run in run.containers:
        members = []
        for comm, share, first, last in _lives(container_run.container, run.tick):
            members.append(SimulatedProcess(pid, comm[:15], f"/usr/bin/{comm}", share, first, last))
            pid += 1
        yield container_run, members


def _lives(container: Container, tick: float) -> Iterator[tuple[str, float, int, int]]:
    """Yield name, share, first and last tick; the same container always has the same processes."""
    if container.container_id == SYSTEM_CONTAINER:
        for name, share in _SYSTEM_SHARES.items():
            yield name, share, container.first, container.last
        return
    comm = container.name.replace("stress-", "stress-ng-")
    rng = np.random.default_rng(zlib.crc32(container.container_id.encode()))
    yield comm, _MAIN_SHARE, container.first, container.last
    for _ in range(2):
        at = container.first
        while at < container.last:
            end = min(at + max(int(rng.uniform(*_WORKER_SECONDS) / tick), 1), container.last)
            yield comm, (1 - _MAIN_SHARE) / 2, at, end
            at = end

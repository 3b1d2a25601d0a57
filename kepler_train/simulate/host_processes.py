"""The CPU time of this machine's own processes, as if they were containers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

STRESS = "stress-ng"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")  # of CPU time in /proc


@dataclass(frozen=True)
class HostProcess:
    """One line of /proc/<pid>/stat: `own` and `children` (exited and waited for) CPU time in seconds."""

    pid: int
    parent: int
    name: str
    own: float
    children: float
    started: int


def read_process(line: str) -> HostProcess:
    """Return a process from its `stat` line; the name may hold spaces and parentheses."""
    pid, rest = line.split(" (", 1)
    name, fields = rest.rsplit(") ", 1)
    f = fields.split()
    own, children = (sum(map(int, times)) / TICKS_PER_SECOND for times in (f[11:13], f[13:15]))
    return HostProcess(int(pid), int(f[1]), name, own, children, int(f[19]))


def read_processes(proc: Path = Path("/proc")) -> list[HostProcess]:
    """Return every process that lives now."""
    processes = []
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            try:
                processes.append(read_process(Path(entry.path, "stat").read_text(errors="replace")))
            except OSError:
                continue  # it ended while we looked
    return processes


def load_of(name: str, known: Iterable[str]) -> str | None:
    """Return the stressor a process runs: `cpu` for `stress-ng-cpu`. The kernel cuts names to 15 characters."""
    stressor = name.removeprefix(f"{STRESS}-")
    if stressor == name:
        return None
    return next((load for load in known if load == stressor or (len(name) == 15 and load.startswith(stressor))), None)


@dataclass
class GroupClock:
    """The growth of the CPU time of a group of processes, never below 0, though processes end.

    A process that ended hands its time to its parent when the parent waits for it. So the time of a vanished
    process is looked for in its nearest living ancestor of the group, and taken as spent where there is none.
    """

    _last: dict[tuple[int, int], HostProcess] | None = None

    def advance(self, members: list[HostProcess]) -> float:
        """Return the CPU time (s) of `members` since the last call."""
        before, now = self._last, {(p.pid, p.started): p for p in members}
        self._last = now
        if before is None:
            return 0.0
        alive = {p.pid for p in members}
        known_parent = {p.pid: p.parent for p in before.values()}
        baseline = 0.0
        for key, process in before.items():
            if key in now or _has_living_ancestor(process, known_parent, alive):
                baseline += process.own + process.children
        return max(sum(p.own + p.children for p in members) - baseline, 0.0)


def _has_living_ancestor(process: HostProcess, parents: dict[int, int], alive: set[int]) -> bool:
    pid = process.parent
    for _ in range(64):
        if pid in alive:
            return True
        if pid not in parents:
            return False
        pid = parents[pid]
    return False

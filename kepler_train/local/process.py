"""The child processes of a stack, and how they are recognised."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kepler_train.local.files import open_private
from kepler_train.local.private_home import UMASK
from kepler_train.processes import before_exec_of_child, descendants, kill, living, parents_by_pid, pids, proc_file

SERVICE_MARK = "KEPLER_TRAIN_SERVICE"
"""The environment variable by which every process of a service is known, however deep in its tree."""

HOME = "KEPLER_TRAIN_HOME"
"""The environment variable that names the home of a stack."""

STACK_MARK = "KEPLER_TRAIN_STACK"
"""The same home, but only in the environment of processes that the stack started: never in a person's shell."""


@dataclass(frozen=True)
class ProcessIdentity:
    """A process that cannot be confused with a later one of the same number."""

    pid: int
    started: int
    """Clock ticks since boot, from /proc/<pid>/stat."""

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """Return the process that has this number now; None for nobody, and for a zombie."""
        fields = living(pid)
        return cls(pid, int(fields[19])) if fields else None

    @property
    def alive(self) -> bool:
        """Return whether it still runs."""
        return ProcessIdentity.of(self.pid) == self


class Child:
    """A program in a session of its own, its output in a log file, killed by the kernel when its parent dies.

    The kernel watches the thread that started it: start children from a thread that lives as long as they shall.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        *,
        run_as: tuple[int, int] | None = None,
        orphan_signal: signal.Signals = signal.SIGKILL,
        folder: Path | None = None,
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with open_private(log, "ab") as output:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
                user=run_as[0] if run_as else None,
                group=run_as[1] if run_as else None,
                extra_groups=[] if run_as else None,
                umask=UMASK,
                preexec_fn=before_exec_of_child(orphan_signal),
            )
        self.pid = self._popen.pid
        self.identity = ProcessIdentity.of(self.pid) or ProcessIdentity(self.pid, 0)

    @property
    def exit_code(self) -> int | None:
        """Return None while it runs; -9 when signal 9 ended it."""
        return self._popen.poll()

    def ask(self, with_signal: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        self._popen.send_signal(with_signal)

    def wait(self, seconds: float) -> None:
        """Wait for its end, then kill whatever is left of its group."""
        if self.exit_code is None:
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(seconds)
        self.kill()

    def kill(self) -> None:
        """End it and its group at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()


def reap_orphans(known: Iterable[int]) -> None:
    """Collect adopted children that have ended; `known` children are left to their owners."""
    for pid in set(_children(os.getpid())) - set(known):
        if not living(pid):
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def marked(mark: Mapping[str, str]) -> list[int]:
    """Return the living processes whose environment holds all of `mark`, and all their descendants."""
    variables = {f"{key}={value}".encode() for key, value in mark.items()}
    roots = {pid for pid in pids() if living(pid) and variables <= set(proc_file(pid, "environ").split(b"\0"))}
    return sorted((roots | descendants(roots)) - {os.getpid()})


def kill_all(find: Callable[[], list[int]], seconds: float = 10.0) -> list[int]:
    """Kill what `find` returns until that is nothing; return what was killed."""
    killed: set[int] = set()
    deadline = time.monotonic() + seconds
    while (remaining := find()) and time.monotonic() < deadline:
        killed |= {pid for pid in remaining if kill(pid)}
        time.sleep(0.05)
    return sorted(killed)


def children_of(pid: int) -> list[int]:
    """Return the living direct children of a process."""
    return [child for child in _children(pid) if living(child)]


def running_in(folder: Path, program: Path) -> list[int]:
    """Return processes that run `program` with `folder` as their working directory."""
    return [pid for pid in pids() if _link(pid, "exe") == program and _link(pid, "cwd") == folder]


def running_below(folder: Path) -> list[int]:
    """Return processes whose program or working directory lies in `folder`."""
    links = {pid: (_link(pid, "exe"), _link(pid, "cwd")) for pid in pids()}
    return [pid for pid, paths in links.items() if any(path and path.is_relative_to(folder) for path in paths)]


def _link(pid: int, name: str) -> Path | None:
    try:
        return Path(f"/proc/{pid}/{name}").readlink()
    except OSError:
        return None


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [child for child, parent in parents_by_pid().items() if parent == pid]

"""Child processes that never outlive us, and the few questions we ask the kernel about processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SERVICE_MARK = "KEPLER_TRAIN_SERVICE"
"""The environment variable by which every process of a service is known, however deep in its tree."""

HOME = "KEPLER_TRAIN_HOME"
"""The environment variable that names the home of a stack."""

STACK_MARK = "KEPLER_TRAIN_STACK"
"""The same home, but only in the environment of processes that the stack started: never in a person's shell."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Identity:
    """A process that cannot be confused with a later one of the same number."""

    pid: int
    started: int
    """Clock ticks since boot, from /proc/<pid>/stat."""

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """Who has this number now; None for nobody, and for a zombie."""
        fields = _stat(pid)
        return None if fields is None or fields[0] in "ZX" else cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return Identity.of(self.pid) == self


class Child:
    """A program in a session of its own, its words in a log file, killed by the kernel when its parent dies.

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
        with log.open("ab") as words:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
                user=run_as[0] if run_as else None,
                group=run_as[1] if run_as else None,
                extra_groups=[] if run_as else None,
                preexec_fn=_die_with(os.getpid(), orphan_signal),
            )
        self.pid = self._popen.pid
        self.identity = Identity.of(self.pid) or Identity(self.pid, 0)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; -9 when signal 9 ended it."""
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


def _die_with(parent: int, orphan_signal: signal.Signals) -> Callable[[], None]:
    def before_exec() -> None:
        # After the change of user: the kernel forgets this setting when the user changes.
        _libc.prctl(_PR_SET_PDEATHSIG, int(orphan_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


def die_with_parent(with_signal: signal.Signals) -> None:
    """Ask the kernel for `with_signal` when the parent of this process dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, instead of init."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans(known: Iterable[int]) -> None:
    """Collect adopted children that have ended; `known` children are left to their owners."""
    for pid in set(_children(os.getpid())) - set(known):
        if Identity.of(pid) is None:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def marked(mark: Mapping[str, str]) -> list[int]:
    """Processes whose environment holds all of `mark`, and all their descendants."""
    wanted = {f"{key}={value}".encode() for key, value in mark.items()}
    parents = _parents()
    found = {pid for pid in parents if wanted <= set(_bytes(pid, "environ").split(b"\0"))}
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        grew = bool(more)
        found |= more
    return sorted(pid for pid in found if pid != os.getpid() and Identity.of(pid) is not None)


def kill_all(find: Callable[[], list[int]], seconds: float = 10.0) -> list[int]:
    """Kill what `find` finds until it finds nothing; returns what was killed."""
    killed: list[int] = []
    deadline = time.monotonic() + seconds
    while (pids := find()) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        time.sleep(0.05)
    return sorted(set(killed))


def children_of(pid: int) -> list[int]:
    """The living direct children of a process."""
    return [child for child in _children(pid) if Identity.of(child) is not None]


def running_in(folder: Path, program: Path) -> list[int]:
    """Processes that run `program` with `folder` as their working directory."""
    return [pid for pid in _pids() if _link(pid, "exe") == program and _link(pid, "cwd") == folder]


def running_below(folder: Path) -> list[int]:
    """Return processes whose program or working directory lies in `folder`."""
    links = {pid: (_link(pid, "exe"), _link(pid, "cwd")) for pid in _pids()}
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
        return [child for child, parent in _parents().items() if parent == pid]


def _parents() -> dict[int, int]:
    return {pid: int(fields[1]) for pid in _pids() if (fields := _stat(pid)) is not None}


def _pids() -> Iterator[int]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - numbers, not paths
        if entry.isdigit():
            yield int(entry)


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat behind the name, which may hold spaces: state, parent and so on."""
    text = _bytes(pid, "stat")
    return text.rpartition(b")")[2].decode().split() if text else None


def _bytes(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""

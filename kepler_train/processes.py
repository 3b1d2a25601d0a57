"""Child processes that never outlive their parent, and what /proc says of processes.

On the standard library alone: the launcher of loads imports it, which must start at once and be no load itself.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(with_signal: signal.Signals) -> None:
    """Ask the kernel for `with_signal` when the parent of this process dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0)


def before_exec_of_child(with_signal: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Return a `preexec_fn` by which the kernel ends the child with `with_signal` when this process dies.

    The kernel watches the thread that starts the child, and forgets the setting when the user changes.
    """
    parent = os.getpid()

    def before_exec() -> None:
        die_with_parent(with_signal)
        if os.getppid() != parent:  # it has died already
            os._exit(1)

    return before_exec


def adopt_orphans(yes: bool = True) -> None:
    """Become the parent of every descendant whose own parent dies, instead of init; or no longer."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def kill(pid: int) -> bool:
    """Kill a process; return whether it existed and could be killed."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def descendants(of: Collection[int]) -> set[int]:
    """Return the living processes below some."""
    parents = parents_by_pid()
    family = set(of)
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family - set(of)


def parents_by_pid() -> dict[int, int]:
    """Return the parent of every living process."""
    return {pid: int(fields[1]) for pid in pids() if (fields := living(pid))}


def pids() -> Iterator[int]:
    """Yield the number of every process, zombies included."""
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208 - numbers, not paths


def living(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat behind the name: state, parent and so on; nothing for a zombie."""
    fields = proc_file(pid, "stat").rpartition(b")")[2].decode().split()  # the name may hold spaces and brackets
    return fields if fields and fields[0] not in "ZX" else []


def proc_file(pid: int, name: str) -> bytes:
    """Return the content of a file of a process; nothing where it has ended or is another user's."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""

"""Children that are killed at a point of their work: before the k-th file operation or the k-th request to S3."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# What the interpreter reports before it changes something; between two reads there is nothing to see.
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.chmod", "fcntl.flock"}
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT

Arm = Callable[[int], None]


def in_a_child(work: Callable[[], Any]) -> int:
    """The pid of a forked child that does the work and ends with 0, or with 1 after an error."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def ended(pid: int) -> int:
    """How a child ended: its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at_each_point(start: Callable[[int], Callable[[Arm], None]]) -> Iterator[int]:
    """Kill a child before its k-th operation, for k = 0, 1, … until it ends by itself; yields k after each.

    `start(k)` prepares a fresh place and answers the work, which gets a function to count operations with.
    """
    k = 0
    while True:
        work = start(k)

        def count(operation: int, k: int = k) -> None:
            if operation == k:
                os.kill(os.getpid(), signal.SIGKILL)

        end = ended(in_a_child(lambda work=work, count=count: work(count)))
        yield k
        if end != -signal.SIGKILL:
            assert end == 0, f"the child ended with {end} instead of being killed at {k}"
            return
        k += 1


def count_file_operations(root: Path, count: Arm) -> None:
    """Call `count` with 0, 1, … before each change of files by this process (for children: it cannot be undone)."""
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        writes = event == "open" and str(root) in str(arguments[0]) and bool(arguments[2] & _TO_WRITE)
        if event in _CHANGES or writes:
            seen += 1
            count(seen - 1)

    sys.addaudithook(hook)


def count_requests(client: Any, count: Arm) -> None:
    """Call `count` with 0, 1, … before each request of a boto3 client."""
    seen = 0

    def hook(**_: Any) -> None:
        nonlocal seen
        seen += 1
        count(seen - 1)

    client.meta.events.register("before-send.s3", hook)

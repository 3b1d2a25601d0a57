"""One load from its start to its end: the launcher is told what to start and asked how it went."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kepler_train.stress import launcher
from kepler_train.stress.launcher import adopt_orphans, descendants
from kepler_train.stress.stopping import Stopping

_CLEARING_SECONDS = 15.0
"""What the launcher may need to kill what is left, beyond the time that programs get to end by themselves."""


@dataclass(frozen=True)
class Program:
    """What to start, and the file for its words; without one they go to our stderr."""

    command: Sequence[str]
    output: Path | None = None


@dataclass(frozen=True)
class Result:
    """How a program ended: its exit code (-9: by signal 9), and whether it had to be ended."""

    exit_code: int
    cut_short: bool


@dataclass(frozen=True)
class Outcome:
    """When all programs had been started and when the last one ended (Unix time, s), and how each of them did."""

    started: float
    ended: float
    elapsed: float
    """The same time by a clock that nobody sets (s)."""
    results: list[Result]


def run_programs(
    programs: Sequence[Program],
    folder: Path,
    *,
    seconds: float,
    grace: float,
    stop: Stopping,
    lock: int,
    watch: Callable[[], None],
    every: float,
) -> Outcome | None:
    """Run programs together for at most `seconds`, and call `watch` now and then; None when they were lost sight of.

    Nothing of them is left afterwards, nor when this process is killed: then the launcher also removes their
    `folder`, and holds the lock of the machine until it has.
    """
    asked = {
        "commands": [program.command for program in programs],
        "outputs": [program.output and str(program.output) for program in programs],
        "seconds": seconds,
        "grace": grace,
        "folder": str(folder),
    }
    with _nothing_left():
        answered = _ask(json.dumps(asked).encode() + b"\n", grace, stop, lock, watch, every)
    if not answered:
        return None
    told = json.loads(answered)
    results = [Result(exit_code, cut_short) for exit_code, cut_short in told.pop("results")]
    return Outcome(**told, results=results)


def _ask(line: bytes, grace: float, stop: Stopping, lock: int, watch: Callable[[], None], every: float) -> bytes:
    """What a launcher answers to the line; nothing when it was killed."""
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", launcher.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is for us: we then end the load in good order
        pass_fds=[lock],
    )
    assert keeper.stdin is not None  # noqa: S101 - both are pipes
    assert keeper.stdout is not None  # noqa: S101
    try:
        with suppress(BrokenPipeError):
            keeper.stdin.write(line)
            keeper.stdin.flush()
        _await(keeper.stdout.fileno(), stop, watch, every)
    finally:
        answered = b""
        with suppress(subprocess.TimeoutExpired):
            # This closes its stdin: if the load still runs, because of a signal, it is stopped.
            answered = keeper.communicate(timeout=grace + _CLEARING_SECONDS)[0]
        keeper.kill()
        keeper.wait()
    return answered


def _await(answer: int, stop: Stopping, watch: Callable[[], None], every: float) -> None:
    next_look = time.monotonic() + every / 2
    while stop.signal is None and not stop.wait(next_look - time.monotonic(), answer):
        if time.monotonic() >= next_look:
            watch()
            next_look += every


@contextmanager
def _nothing_left() -> Iterator[None]:
    """Kill what a launcher leaves that was killed itself: it comes to us then; as a rule there is nothing."""
    before = descendants({os.getpid()})
    adopt_orphans(True)
    try:
        yield
    finally:
        deadline = time.monotonic() + _CLEARING_SECONDS
        while (left := descendants({os.getpid()}) - before) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)
        adopt_orphans(False)

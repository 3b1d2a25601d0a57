"""Programs of a phase from their start to their end, run by the launcher."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import kepler_train
from kepler_train.processes import adopt_orphans, descendants, kill
from kepler_train.stress.stop_signals import StopSignals

_LAUNCHER = (
    f"import sys; sys.path.append({str(Path(kepler_train.__file__).parents[1])!r});"
    " from kepler_train.stress.launcher import main; main()"
)
_CLEARING_SECONDS = 15.0
"""What the launcher may need to kill what is left, beyond the time that programs get to end by themselves."""


@dataclass(frozen=True)
class Program:
    """A command, and the file for its output; without one it goes to our stderr."""

    command: Sequence[str]
    output: Path | None = None


@dataclass(frozen=True)
class Result:
    """The exit code of a program (-9: by signal 9), and whether it had to be ended."""

    exit_code: int
    cut_short: bool


@dataclass(frozen=True)
class Outcome:
    """When all programs had been started and when the last one ended (Unix time, s), and the result of each."""

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
    stop: StopSignals,
    lock: int,
    watch: Callable[[], None],
    every: float,
) -> Outcome | None:
    """Run programs together for at most `seconds`, calling `watch` now and then; None when the launcher was lost.

    Nothing of them is left afterwards, nor when this process is killed: then the launcher also removes their
    `folder`, and holds the lock of the machine until it has.
    """
    request = {
        "commands": [program.command for program in programs],
        "outputs": [program.output and str(program.output) for program in programs],
        "seconds": seconds,
        "grace": grace,
        "folder": str(folder),
    }
    with _nothing_left():
        answer = _ask(json.dumps(request).encode() + b"\n", grace, stop, lock, watch, every)
    if not answer:
        return None
    outcome = json.loads(answer)
    results = [Result(exit_code, cut_short) for exit_code, cut_short in outcome.pop("results")]
    return Outcome(**outcome, results=results)


def _ask(line: bytes, grace: float, stop: StopSignals, lock: int, watch: Callable[[], None], every: float) -> bytes:
    """Send a launcher its line and return its answer; nothing when it was killed."""
    launcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is for us: we then end the load in good order
        pass_fds=[lock],
    )
    assert launcher.stdin is not None  # noqa: S101 - both are pipes
    assert launcher.stdout is not None  # noqa: S101
    try:
        with suppress(BrokenPipeError):
            launcher.stdin.write(line)
            launcher.stdin.flush()
        _await(launcher.stdout.fileno(), stop, watch, every)
    finally:
        answer = b""
        with suppress(subprocess.TimeoutExpired):
            # This closes its stdin: if the load still runs, because of a signal, it is stopped.
            answer = launcher.communicate(timeout=grace + _CLEARING_SECONDS)[0]
        launcher.kill()
        launcher.wait()
    return answer


def _await(answer: int, stop: StopSignals, watch: Callable[[], None], every: float) -> None:
    next_look = time.monotonic() + every / 2
    while stop.signal is None and not stop.wait(next_look - time.monotonic(), answer):
        if time.monotonic() >= next_look:
            watch()
            next_look += every


@contextmanager
def _nothing_left() -> Iterator[None]:
    """Kill the programs of a launcher that was killed itself: this process adopts them."""
    before = descendants({os.getpid()})
    adopt_orphans()
    try:
        yield
    finally:
        deadline = time.monotonic() + _CLEARING_SECONDS
        while (remaining := descendants({os.getpid()}) - before) and time.monotonic() < deadline:
            for pid in remaining:
                kill(pid)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)
        adopt_orphans(False)

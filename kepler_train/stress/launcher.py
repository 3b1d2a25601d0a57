"""The process between a stress run and its load: it starts the programs and lets none of them outlive it or the run.

It runs on the standard library alone, so that it starts at once and is no load itself. Its stdin brings one line of
JSON and then stays open: when it closes, because the run wants to stop or has died, everything is stopped. It adopts
what its programs leave behind, so that it can end all of it. What happened goes to stdout as one line of JSON.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kepler_train.processes import adopt_orphans, before_exec_of_child, descendants, kill

_GIVE_UP_SECONDS = 10.0
"""What SIGKILL does not end in this time hangs in the kernel."""

_NEVER_RAN = 127
"""As a shell says of a program that cannot be started."""


class Launcher:
    """The running programs of one phase."""

    def __init__(self) -> None:
        self.pids: list[int] = []
        self.exit_codes: dict[int, int] = {}
        self.told_to_stop = False
        self._wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._told)
        adopt_orphans()

    def _told(self, *_: object) -> None:
        self.told_to_stop = True

    def start(self, command: list[str], output: str | None) -> None:
        """Start a program in a process group of its own; it writes to `output`, or where this process does."""
        try:
            with Path(output or os.devnull).open("wb") as log:
                started = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log if output else sys.stderr,
                    stderr=log if output else sys.stderr,
                    process_group=0,
                    preexec_fn=before_exec_of_child(),
                )
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            self.pids.append(0)
        else:
            started.returncode = 0  # we collect its exit code ourselves, with those of all orphans
            self.pids.append(started.pid)

    def wait(self, seconds: float) -> None:
        """Wait for the end of all programs, or until the time is over or we are told to stop."""
        deadline = time.monotonic() + seconds
        while not self.told_to_stop and self.running() and (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([sys.stdin, self._wake], [], [], left)
            if sys.stdin in ready:
                self.told_to_stop = True  # nothing more is ever sent: this is its end
            self._reap()

    def end(self, grace: float) -> None:
        """End the programs that still run: ask, wait for `grace` seconds, then kill."""
        for pid in self.running():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGTERM)
        self._until(lambda: not self.running(), grace)
        self._until(self._kill, _GIVE_UP_SECONDS)

    def _kill(self) -> bool:
        remaining = descendants({os.getpid()})
        for pid in remaining:
            kill(pid)
        return not remaining

    def _until(self, done: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not done() and time.monotonic() < deadline:
            select.select([self._wake], [], [], 0.02)
            self._reap()

    def running(self) -> list[int]:
        """Return the programs that have not ended."""
        return [pid for pid in self.pids if pid and pid not in self.exit_codes]

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] in self.running():  # an orphan may have the number of a program that ended before
                    self.exit_codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])


def main() -> None:
    """Run the programs that the first line of stdin names."""
    line = sys.stdin.buffer.readline()
    if not line:
        return  # the run died before it said anything
    request = json.loads(line)
    launcher = Launcher()
    for command, output in zip(request["commands"], request["outputs"], strict=True):
        launcher.start(command, output)
    started, clock = time.time(), time.monotonic()
    launcher.wait(request["seconds"])
    ended, elapsed = time.time(), time.monotonic() - clock
    still_running = launcher.running()
    launcher.end(request["grace"])
    results = [(launcher.exit_codes.get(pid, _NEVER_RAN), pid in still_running) for pid in launcher.pids]
    answer = {"started": started, "ended": ended, "elapsed": elapsed, "results": results}
    try:
        os.write(sys.stdout.fileno(), json.dumps(answer).encode())
    except BrokenPipeError:  # the run is dead: its files are ours to remove
        shutil.rmtree(request["folder"], ignore_errors=True)

"""A private copy of this machine: what is installed, removed or started in it is gone when it ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_BOOT = Path(__file__).with_name("boot")
_ROOT = os.geteuid() == 0
_SPACES = ["--mount", "--pid"] if _ROOT else ["--user", "--mount", "--pid"]
_PRIVATE_NETWORK = """
set -e
ip link set lo up
eval "$1"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
"${@:2}"
"""
_STEP_SECONDS = 1800
_LAST_LINES = 25

USER = "kepler-fresh"


class NoMachine(Exception):
    """A private machine cannot be made here."""


class Machine:
    """`with Machine(folder, log) as machine: machine.run("make demo", …)`.

    It is a mount and a process namespace, for root with overlays on /etc, /usr and /var and a /tmp of its own. It ends
    with the pipe that this process holds, so not even a killed matrix leaves anything running.
    """

    def __init__(self, folder: Path, log: IO[str]) -> None:
        """Keep in `folder` what is particular about it; write what is said in it to `log`."""
        self._folder, self._log = folder, log

    def __enter__(self) -> Self:
        identity = [] if _ROOT else ["--map-current-user"]
        command = ["unshare", *_SPACES, *identity, "--propagation", "private", "--fork", "--kill-child", "--mount-proc"]
        self._holder = subprocess.Popen(
            [*command, _BOOT, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # Ctrl-C is for the matrix, which then ends the machine
        )
        assert self._holder.stdout
        if self._holder.stdout.readline() != "ready\n":
            self._end()
            raise NoMachine("a private copy of this machine cannot be made")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def run(
        self, script: str, folder: Path, environment: Mapping[str, str], *, as_user: bool = False, network: str = ""
    ) -> int:
        """Run a shell script in the machine, with exactly this environment; returns its exit code.

        With `network`, another script, it runs in a network of its own: loopback, and what that script does to it.
        """
        holder = self._holder.pid
        enter = ["nsenter", "--target", str(holder), "--mount", f"--pid=/proc/{holder}/ns/pid_for_children"]
        command = [
            *enter,
            *([] if _ROOT else ["--user", "--preserve-credentials"]),
            *(["unshare", "--net", "bash", "-c", _PRIVATE_NETWORK, "-", network] if network else []),
            *(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"] if as_user else []),
            *["env", "--ignore-environment", f"--chdir={folder}", *(f"{k}={v}" for k, v in environment.items())],
            *["bash", "-c", script],
        ]
        self._log.write(f"$ {script}\n")
        self._log.flush()
        try:
            return subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                timeout=_STEP_SECONDS,
                start_new_session=True,
            ).returncode
        except subprocess.TimeoutExpired:
            self._log.write(f"This took more than {_STEP_SECONDS} s.\n")
            return 1

    def last_words(self) -> str:
        """Return the end of its log."""
        return "\n".join(Path(self._log.name).read_text(errors="replace").splitlines()[-_LAST_LINES:])

    def processes(self) -> list[str]:
        """Return what runs in it, by command line."""
        own = Path(f"/proc/{self._holder.pid}/ns/pid_for_children").readlink()
        first = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        running = []
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or process.name in first:
                continue
            try:
                if (process / "ns" / "pid").readlink() == own:
                    running.append((process / "cmdline").read_text().replace("\0", " ").strip())
            except OSError:
                continue  # it has ended, or is another user's
        return running

    def _end(self) -> None:
        assert self._holder.stdin
        assert self._holder.stdout
        self._holder.stdin.close()
        self._holder.wait()
        self._holder.stdout.close()

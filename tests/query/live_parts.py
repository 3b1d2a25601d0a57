"""The real parts of a live collection: exporters as processes, and what the kernel itself says meanwhile."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import requests

Floats = npt.NDArray[np.float64]
KEPLER_TRAIN = [sys.executable, "-m", "kepler_train"]
_TICK = os.sysconf("SC_CLK_TCK")
# What the features need, and nothing that would be work of its own.
_COLLECTORS = ("cpu", "diskstats", "meminfo", "netdev", "stat", "vmstat")


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that works in a folder, by which it can be found, until the end of the block."""
    with (folder / "programs.log").open("a") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def simulated_kepler(dialect: str, folder: Path) -> Iterator[str]:
    """`kepler-train simulate node --meter host`: its host:port."""
    options = ["--meter", "host", "--name", "this-machine", "--dialect", dialect]
    with running([*KEPLER_TRAIN, "simulate", "node", *options], folder) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip().removeprefix("http://").removesuffix("/metrics")


@contextmanager
def node_exporter(folder: Path) -> Iterator[str]:
    """Debian's prometheus-node-exporter: its host:port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    chosen = ["--collector.disable-defaults", *(f"--collector.{name}" for name in _COLLECTORS)]
    with running(["prometheus-node-exporter", *chosen, f"--web.listen-address={address}"], folder):
        yield address


def wait_for_scrapes(url: str, targets: int) -> None:
    """Wait until Prometheus has scraped every target."""
    for _ in range(200):
        answer = requests.get(f"{url}/api/v1/query", params={"query": "sum(up)"}, timeout=10).json()
        if [one["value"][1] for one in answer["data"]["result"]] == [str(targets)]:
            return
        time.sleep(0.1)
    raise AssertionError(f"Prometheus has not scraped {targets} targets within 20 s")


class Watch:
    """Reads the kernel's counters of all CPUs, and looks for load of others, ten times a second."""

    def __init__(self, own: Path) -> None:
        self._own, self._ended = own, threading.Event()
        self._read: list[tuple[float, float]] = []  # Unix s, CPU s that all CPUs have worked
        self.foreign: list[float] = []  # moments at which somebody else's stress-ng was running
        self._thread = threading.Thread(target=self._keep_reading)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def busy(self, moments: Floats) -> Floats:
        """CPU seconds that the machine had worked by some moments (Unix s)."""
        times, seconds = zip(*self._read, strict=True)
        return np.interp(moments, times, seconds)

    def _keep_reading(self) -> None:
        while not self._ended.wait(0.1):
            stat = Path("/proc/stat").read_text().split("\n", 1)[0].split()
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat[1:9])
            self._read.append((time.time(), (user + nice + system + irq + softirq + steal) / _TICK))
            if set(processes("stress-ng")) - set(processes("stress-ng", self._own)):
                self.foreign.append(time.time())


def processes(name: str = "", folder: Path | None = None) -> list[int]:
    """Living processes whose name begins so, and that work in a folder or have it in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or not (entry / "comm").read_text().startswith(name):
                continue
            if folder is None or (entry / "cwd").readlink() == folder or str(folder) in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except OSError:  # it is gone, or a zombie
            continue
    return found

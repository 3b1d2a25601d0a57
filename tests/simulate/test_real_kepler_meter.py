"""Real exporters read the virtual meter: what they export is its truth.

A reader shows the counters of its own last refresh, and the meter refreshes them every 0.25 s. So between two
scrapes the energies may differ by the power of one refresh at either end: 110 W (psys, all CPUs busy) for as long.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import requests

METER = [sys.executable, "-c", "from kepler_train.cli import main; main()", "simulate", "rapl"]
MOST_WATTS = {"package": 80.0, "core": 53.0, "dram": 9.0, "psys": 110.0}
METER_TICK = 0.25  # s
Energies = dict[str, float]


@contextmanager
def running(command: list[str], **options: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(15)


@pytest.fixture
def meter(tmp_path: Path) -> Iterator[Path]:
    """A running meter; its tree."""
    tree, truth = tmp_path / "sys", tmp_path / "truth.csv"
    arguments = ["--sysfs", str(tree), "--truth", str(truth), "--packages", "1"]
    with running([*METER, *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Metering")
        yield tree
    process.stdout.close()


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def scraped(address: str, read: Callable[[str], Energies]) -> Energies:
    """The energies (J) of one scrape, as soon as the exporter has all zones."""
    for _ in range(150):
        try:
            found = read(requests.get(f"http://{address}/metrics", timeout=5).text)
        except requests.ConnectionError:
            found = {}
        if found.keys() == MOST_WATTS.keys():
            return found
        time.sleep(0.1)
    pytest.fail(f"no energy of all zones on {address} within 15 s")


def truth_between(path: Path, start: float, end: float) -> Energies:
    """What the meter says was used (J) between two moments."""
    with path.open() as lines:
        rows = list(csv.DictReader(lines))
    times = [float(row["time"]) for row in rows]
    columns = {"package": "package-0", "core": "core", "dram": "dram", "psys": "psys"}
    found = {}
    for zone, column in columns.items():
        joules = [float(row[f"{column}_joules"]) for row in rows]
        found[zone] = float(np.interp(end, times, joules) - np.interp(start, times, joules))
    return found


def compare(tree: Path, address: str, read: Callable[[str], Energies], refresh: float) -> None:
    """Scrape before and after a burst of load; both differences must be the truth's."""
    moments, readings = [], []
    for load in (None, ["stress-ng", "--cpu", "1", "--timeout", "4", "-q"], ["sleep", "3"]):
        if load:
            subprocess.run(load, check=True, timeout=60)
        readings.append(scraped(address, read))
        moments.append(time.time())
    time.sleep(1)  # so that the truth goes beyond the last scrape
    for first in (0, 1):
        truth = truth_between(tree.parent / "truth.csv", moments[first], moments[first + 1])
        for zone, joules in truth.items():
            seen = readings[first + 1][zone] - readings[first][zone]
            print(f"{zone}: exported {seen:.3f} J, truth {joules:.3f} J")
            assert seen == pytest.approx(joules, abs=MOST_WATTS[zone] * (refresh + METER_TICK + 0.2))


def kepler_energies(text: str) -> Energies:
    found = re.findall(r'^kepler_node_cpu_joules_total\{[^}]*zone="(\w+)"[^}]*\} (\S+)$', text, re.MULTILINE)
    return {zone: float(value) for zone, value in found}


def node_exporter_energies(text: str) -> Energies:
    found = re.findall(r"^node_rapl_(\w+)_joules_total\{[^}]*\} (\S+)$", text, re.MULTILINE)
    return {zone: float(value) for zone, value in found}


@pytest.mark.integration
def test_an_unmodified_kepler_exports_the_energy_of_the_truth(meter: Path, tmp_path: Path) -> None:
    kepler = os.environ.get("KEPLER_BINARY") or shutil.which("kepler")
    if not kepler:
        pytest.skip("no Kepler: name the binary of 0.10 or later in KEPLER_BINARY, or put `kepler` on the PATH")
    if not shutil.which("stress-ng"):
        pytest.skip("stress-ng is not installed")
    address = free_address()
    config = tmp_path / "kepler.yaml"
    config.write_text("monitor:\n  interval: 1s\n  staleness: 100ms\n")
    command = [kepler, f"--config.file={config}", f"--host.sysfs={meter}", f"--web.listen-address={address}"]
    with running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        compare(meter, address, kepler_energies, refresh=1.0)


@pytest.mark.integration
def test_node_exporter_reads_the_zones_through_the_library_that_kepler_uses(meter: Path) -> None:
    exporter = os.environ.get("NODE_EXPORTER_BINARY") or shutil.which("prometheus-node-exporter")
    if not exporter:
        pytest.skip("no node_exporter: install prometheus-node-exporter or name it in NODE_EXPORTER_BINARY")
    if not shutil.which("stress-ng"):
        pytest.skip("stress-ng is not installed")
    address = free_address()
    command = [
        exporter,
        "--collector.disable-defaults",
        "--collector.rapl",
        f"--path.sysfs={meter}",
        f"--web.listen-address={address}",
    ]
    with running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        compare(meter, address, node_exporter_energies, refresh=0.0)

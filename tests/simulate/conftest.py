from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kepler_train.simulate.history import exported, write_history
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z


@pytest.fixture(scope="session")
def two_nodes() -> list[NodeRun]:
    """Three hours of two nodes, phases of five minutes."""
    return run_nodes(Scenario(start=START, duration=3 * 3600, nodes=2, seed=7, phase=300, idle=300))


@pytest.fixture(scope="session")
def history_file(two_nodes: list[NodeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "history.om"
    faults = frozenset({"gap", "reset", "late"})
    write_history(path, exported(two_nodes, "legacy", ["rapl-sysfs", "acpi"], faults, seed=7))
    return path


@pytest.fixture(scope="session")
def real_prometheus(history_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same history behind the real thing."""
    for program in ("promtool", "prometheus"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    home = tmp_path_factory.mktemp("prometheus")
    load = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q", str(history_file), str(home / "data")]
    subprocess.run(load, check=True, capture_output=True, timeout=60)
    (home / "prometheus.yml").write_text("global: {}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={home / 'prometheus.yml'}",
            f"--storage.tsdb.path={home / 'data'}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address={address}",
            "--query.max-samples=20000",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(150):
            try:
                urllib.request.urlopen(f"http://{address}/-/ready", timeout=1)
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        else:
            pytest.fail("Prometheus did not become ready within 15 s")
        yield f"http://{address}"
    finally:
        server.terminate()
        server.wait(10)

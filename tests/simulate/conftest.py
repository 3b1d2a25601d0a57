from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kepler_train.local.prometheus import PrometheusServer
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


class SmallPrometheus(PrometheusServer):
    """The real one, refusing queries of more samples than the tests allow the simulated one."""

    def command(self) -> list[str]:
        return [*super().command(), "--query.max-samples=20000"]


@pytest.fixture(scope="session")
def real_prometheus(history_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same history behind the real thing."""
    for program in ("promtool", "prometheus"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    server = SmallPrometheus(tmp_path_factory.mktemp("prometheus") / "data")
    server.fill(history_file)
    with server:
        yield server.url

"""`simulate history` as blocks of promtool in a real Prometheus: two nodes, each with Kepler and a node_exporter.

Everything that can befall a node is in it. What a query of all groups brings is held against the text that promtool
read, and what is extracted from that against the truth of each node.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from known_samples import START, Samples, collected, held

from kepler_train.cli.app import app
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.runs.tables import extracted, node_rows
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.store import read_store
from kepler_train.spec import RunSpec

pytestmark = pytest.mark.integration

SECONDS, TICK = 3600, 15
BEGIN = "2026-11-14T00:00:00Z"  # START
INTERRUPTIONS = ("gap", "reset", "restart")
CONFUSIONS = ("late", "duplicate", "clock-step", "zero-power")
GROUP = {"legacy": "BPFOnly", "current": "CPUTime"}
OF_KEPLER = {
    "legacy": [
        *(f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram", "platform")),
        *(f"kepler_container_{name}_total" for name in ("cache_miss", "cpu_cycles", "cpu_instructions")),
        *(f"kepler_container_bpf_{name}_total" for name in ("cpu_time_ms", "page_cache_hit")),
        *(f"kepler_container_bpf_{name}_irq_total" for name in ("block", "net_rx", "net_tx")),
        *("kepler_node_node_info", "kepler_node_cpu_scaling_frequency_hertz"),
    ],
    "current": [
        *("kepler_node_cpu_joules_total", "kepler_platform_watts"),
        *("kepler_process_cpu_seconds_total", "kepler_container_cpu_seconds_total", "kepler_node_cpu_usage_ratio"),
    ],
}
OF_NODE_EXPORTER = [
    *("node_cpu_seconds_total", "node_context_switches_total", "node_vmstat_pgfault"),
    *("node_memory_Active_bytes", "node_memory_MemAvailable_bytes"),
    *("node_disk_read_bytes_total", "node_disk_written_bytes_total"),
    *("node_network_receive_bytes_total", "node_network_transmit_bytes_total"),
]
LOAD = [f"node_cpu_{mode}_seconds" for mode in ("user", "nice", "system", "irq", "softirq", "steal")]


@dataclass(frozen=True)
class History:
    """An hour of two nodes: what a query brought, what it had to bring, and what was extracted from it."""

    dialect: str
    found: Samples
    held: Samples
    rows: pd.DataFrame
    truth: pd.DataFrame

    @property
    def energy(self) -> Samples:
        """The energy counters that the query brought."""
        return {name: by_labels for name, by_labels in self.found.items() if name in OF_KEPLER[self.dialect][:5]}


def history(dialect: str, faults: tuple[str, ...], home: Path) -> History:
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    text, truth, samples = home / "history.om", home / "truth.parquet", home / "samples"
    machine = ["--nodes", "2", "--sockets", "1", "--cores", "4", "--containers", "4", "--seed", "9"]
    times = ["--start", BEGIN, "--duration", f"{SECONDS}s", "--phase", "5m", "--idle", "5m"]
    newest = ["--container-seconds"] if dialect == "current" and "restart" in faults else []
    shown = ["--dialect", dialect, "--node-exporter", *newest, *(f"--fault={fault}" for fault in faults)]
    kepler_train("simulate", "history", *machine, *times, *shown, "--out", str(text), "--truth", str(truth))
    server = PrometheusServer(home / "data")
    server.fill(text)
    with server:
        window = ["--start-time", BEGIN, "--interval", str(SECONDS)]
        kepler_train("query", "--server", server.url, *window, "-o", str(samples))
    spec = RunSpec.model_validate({"feature_groups": f"{GROUP[dialect]},NodeExporter", "output_types": "AbsPower"})
    (home / "work").mkdir()
    rows = node_rows(extracted(home / "work", spec, samples, Schedule()))
    asked = [*OF_KEPLER[dialect], *OF_NODE_EXPORTER]
    everything = held(read_store(text), asked, START, START + SECONDS)
    return History(dialect, collected(samples), everything, rows, pd.read_parquet(truth))


def kepler_train(*arguments: str) -> None:
    app(list(arguments), standalone_mode=False)


@pytest.fixture(scope="module", params=GROUP)
def interrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> History:
    """With gaps, resets and restarts."""
    return history(request.param, INTERRUPTIONS, tmp_path_factory.mktemp("interrupted"))


@pytest.fixture(scope="module", params=GROUP)
def confused(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> History:
    """With late scrapes, a second job that scrapes the same, a clock that is fast for a while, and a dead meter."""
    return history(request.param, CONFUSIONS, tmp_path_factory.mktemp("confused"))


def test_a_query_of_everything_brings_every_sample_of_an_interrupted_history(interrupted: History) -> None:
    assert interrupted.found == interrupted.held
    assert len(interrupted.found) == {"legacy": 24, "current": 14}[interrupted.dialect]
    for by_labels in (*interrupted.energy.values(), interrupted.found["node_cpu_seconds_total"]):
        assert {dict(labels)["instance"].partition(":")[0] for labels in by_labels} == {"node-0", "node-1"}


def test_a_query_of_everything_brings_every_sample_of_a_confused_history(confused: History) -> None:
    assert confused.found == confused.held
    for by_labels in confused.energy.values():
        assert {dict(labels)["job"] for labels in by_labels} == {"kepler", "kubernetes-pods"}


def test_power_and_busy_cores_of_each_node_are_its_own(interrupted: History) -> None:
    truth = interrupted.truth.assign(time=interrupted.truth["time"].astype(interrupted.rows["time"].dtype))
    rows = interrupted.rows.merge(truth, on=["time", "node"])
    assert len(rows) == len(interrupted.rows)
    assert set(rows["node"]) == {"node-0", "node-1"}
    for _, own in rows.groupby("node"):
        assert len(own) > 0.6 * SECONDS / TICK  # three gaps of six minutes
        for zone in ("package", "core", "uncore", "dram"):
            np.testing.assert_allclose(own[f"rapl-sysfs/{zone}_power"], own[f"{zone}_metered_watts"], rtol=0.01)
        # The node_exporter is scraped 7 s after Kepler, so a change of load shows in part in the window beside it.
        busy = own[LOAD].sum(axis=1)
        assert busy.mean() == pytest.approx(own["busy_cores"].mean(), rel=0.03)
        assert np.corrcoef(busy, own["busy_cores"])[0, 1] > 0.9


def test_a_second_job_and_a_wrong_clock_do_not_change_power(confused: History) -> None:
    metered = confused.truth.groupby("node")["package_metered_watts"].agg(["mean", "max"])
    for node, own in confused.rows.groupby("node"):
        power = own["rapl-sysfs/package_power"]
        assert power.mean() == pytest.approx(metered.loc[node, "mean"], rel=0.05)
        # When the clock was put right, the energy of six minutes came in one interval: that one is left out.
        assert power.max() < 1.1 * metered.loc[node, "max"]
        assert (own["rapl-sysfs/uncore_power"] == 0).all()

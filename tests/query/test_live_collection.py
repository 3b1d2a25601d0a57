"""Real load, real Prometheus, real node_exporter: what is collected is what Prometheus holds and the kernel counted.

A virtual meter for each dialect of Kepler follows this machine's CPUs while stress-ng runs for some seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import requests
from known_samples import Samples, collected
from live_parts import KEPLER_TRAIN, Watch, node_exporter, processes, simulated_kepler, wait_for_scrapes

from kepler_train.cli.app import app
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.samples.schedule import Schedule, parse_schedule

pytestmark = pytest.mark.integration

PROGRAMS = ("prometheus", "prometheus-node-exporter", "stress-ng")
GROUP = {"legacy": "BPFOnly", "current": "CPUTime"}
KEPLERS = {
    "legacy": {"kepler_node_package_joules_total", "kepler_container_bpf_cpu_time_ms_total"},
    "current": {"kepler_node_cpu_joules_total", "kepler_process_cpu_seconds_total", "kepler_platform_watts"},
}
CPUS = os.cpu_count() or 1
LOAD = [f"node_cpu_{mode}_seconds" for mode in ("user", "nice", "system", "irq", "softirq", "steal")]
# The virtual meter reads the kernel's counters at most 0.2 s before a scrape, in hundredths of a second, and a scrape
# takes its time on CPUs that are busy: a counter may be this much (CPU s) off the kernel's at either end.
APART = 0.4 * CPUS


@dataclass(frozen=True)
class Collection:
    """All that came of one run, after everything that was started for it has ended."""

    home: Path
    schedule: Schedule
    stored: dict[str, Samples]  # what Prometheus holds of the collected metrics, by dialect
    verdicts: dict[str, Any]
    watch: Watch
    left: list[int]

    def rows(self, dialect: str, group: str, output_type: str = "AbsPower") -> pd.DataFrame:
        """The extracted table."""
        return pd.read_parquet(self.home / f"{dialect}-{group}-{output_type}.parquet")

    def disturbed(self, rows: pd.DataFrame) -> np.ndarray:
        """Whether load of others ran in the window of each row."""
        moments = np.array(self.watch.foreign)
        return np.array([bool(((moments > end - 1.2) & (moments < end + 0.2)).any()) for end in rows["timestamp"]])


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    for program in PROGRAMS:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    home = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DATAPATH", str(home))
        stored, watch = collect(home)
        for dialect, group in GROUP.items():
            kepler_train("validate", "-i", dialect, "--schedule", "stress.json", "-o", f"{dialect}-verdict")
            for of, output_type in ((group, "AbsPower"), (group, "DynPower"), ("NodeExporter", "AbsPower")):
                table = ["-o", f"{dialect}-{of}-{output_type}", "--schedule", "stress.json"]
                kepler_train("extract", "-i", dialect, "-fg", of, "-ot", output_type, *table)
    verdicts = {dialect: json.loads((home / f"{dialect}-verdict.json").read_text()) for dialect in GROUP}
    return Collection(home, read_phases(home), stored, verdicts, watch, processes(folder=home))


def collect(home: Path) -> tuple[dict[str, Samples], Watch]:
    """Scrape this machine under load, query it in both dialects, and end all that was started."""
    with ExitStack() as parts:
        targets = {dialect: [parts.enter_context(simulated_kepler(dialect, home))] for dialect in GROUP}
        targets["node"] = [parts.enter_context(node_exporter(home))]
        server = parts.enter_context(PrometheusServer(home / "data", scrape=targets, scrape_interval="1s"))
        wait_for_scrapes(server.url, 3)
        assert len(processes(folder=home)) >= 4  # so that they would be found if they stayed
        with Watch(own=home) as watch:
            stress(home)
            time.sleep(1.5)  # so that the last phase has a scrape after it
        stored = {}
        for dialect, group in GROUP.items():
            window = ["--server", server.url, "--input", "stress", "--dialect", dialect]
            kepler_train("query", *window, "-o", dialect, "-fg", f"{group},NodeExporter", "-e", "rapl-sysfs,acpi")
            stored[dialect] = stored_in(server.url, list(collected(home / dialect)), read_phases(home))
    return stored, watch


def stress(home: Path) -> None:
    """Idle, two loads of stress-ng with one instance and with two, idle: 3 s each."""
    (home / "sys/devices/system/cpu").mkdir(parents=True)  # no cpufreq; and other tests may stress at the same time
    loads = ["--load", "cpu", "--load", "branch", "--instances", "1,2"]
    times = ["--timeout", "3", "--idle", "3", "--break", "0"]
    command = [*KEPLER_TRAIN, "stress", *loads, *times, "--sysfs", str(home / "sys"), "--state", str(home / "state")]
    subprocess.run(command, cwd=home, check=True, timeout=120)


def kepler_train(*arguments: str) -> None:
    app(list(arguments), standalone_mode=False)


def read_phases(home: Path) -> Schedule:
    return parse_schedule((home / "stress.json").read_bytes(), "stress.json")


def stored_in(url: str, metrics: list[str], schedule: Schedule) -> Samples:
    """What Prometheus says, asked for and read without any of the product's code."""
    start, end = schedule.phases[0].start.timestamp(), schedule.phases[-1].end.timestamp()
    found: Samples = {}
    for metric in metrics:
        asked = {"query": f"{metric}[{int(end - start) + 60}s]", "time": f"{end + 5:.3f}"}
        for one in requests.get(f"{url}/api/v1/query", params=asked, timeout=30).json()["data"]["result"]:
            labels = frozenset((name, value) for name, value in one["metric"].items() if name != "__name__")
            inside = [(t, v) for t, v in one["values"] if start - 0.0005 <= t <= end + 0.0005]
            if inside:
                times, values = zip(*inside, strict=True)
                found.setdefault(metric, {})[labels] = [round(t * 1000) for t in times], [float(v) for v in values]
    return found


def test_every_phase_ran_and_nothing_is_left_running(live: Collection) -> None:
    assert [(phase.load, phase.instances, phase.status) for phase in live.schedule.phases] == [
        ("idle", 0, "done"),
        *[(load, instances, "done") for load in ("cpu", "branch") for instances in (1, 2)],
        ("idle", 0, "done"),
    ]
    assert all((phase.bogo_ops or 0) > 0 for phase in live.schedule.phases if phase.load != "idle")
    assert live.left == []


@pytest.mark.parametrize("dialect", GROUP)
def test_the_query_holds_every_sample_of_the_run_that_prometheus_holds(dialect: str, live: Collection) -> None:
    stored = live.stored[dialect]
    assert collected(live.home / dialect) == stored
    assert {"node_cpu_seconds_total", "node_vmstat_pgfault", *KEPLERS[dialect]} <= stored.keys()
    times = [times for by_labels in stored.values() for times, _ in by_labels.values()]
    assert max(map(len, times)) >= 15  # 18 s, scraped every second


@pytest.mark.parametrize("dialect", GROUP)
def test_the_verdict_knows_machine_scrapes_and_phases(dialect: str, live: Collection) -> None:
    found = live.verdicts[dialect]
    assert found["dialect"] == dialect
    every = {"Full", "WorkloadOnly"} if dialect == "legacy" else set()  # they take what there is
    valid = {group for group, state in found["groups"].items() if state["valid"]}
    assert valid == {GROUP[dialect], "NodeExporter"} | every
    (health,) = found["health"].values()
    assert health["scrape_interval"] == pytest.approx(1, abs=0.05)
    assert health["resets"] == []
    assert len(health["phases"]) == 6


@pytest.mark.parametrize("dialect", GROUP)
def test_cpu_time_in_every_phase_is_what_the_kernel_counted(dialect: str, live: Collection) -> None:
    rows = live.rows(dialect, GROUP[dialect])
    ends = rows["timestamp"].to_numpy(float)
    rows["error"] = cpu_seconds(rows, dialect) - (live.watch.busy(ends) - live.watch.busy(ends - 1))  # CPU s in 1 s
    assert len(rows) >= 10
    for _, phase in rows.groupby((rows["workload"] != rows["workload"].shift()).cumsum()):
        pieces = 1 + int((phase["timestamp"].diff() > 1.5).sum())
        assert abs(phase["error"].sum()) <= pieces * APART


@pytest.mark.parametrize("dialect", GROUP)
def test_phases_of_the_manifest_are_where_the_load_is(dialect: str, live: Collection) -> None:
    containers = live.rows(dialect, GROUP[dialect], "DynPower")
    stressed = containers[containers["id"].str.contains("stress-ng")].assign(
        seconds=lambda rows: cpu_seconds(rows, dialect)
    )
    windows = live.rows(dialect, GROUP[dialect])[["timestamp", "workload"]]
    rows = windows.merge(stressed[["timestamp", "seconds"]], how="left").fillna({"seconds": 0.0})
    seconds = rows[~live.disturbed(rows)].groupby("workload")["seconds"].mean()
    if not {"idle", "cpu", "branch"} <= set(seconds.index):
        pytest.skip("another stress-ng ran on this machine nearly all the time")
    assert seconds["idle"] < 0.05
    # Half of the time one CPU and half of it two, less what the rest of this machine took.
    assert seconds[["cpu", "branch"]].between(0.2, 1.6).all()


@pytest.mark.parametrize("dialect", GROUP)
def test_node_exporter_agrees_with_kepler(dialect: str, live: Collection) -> None:
    of_kepler = live.rows(dialect, GROUP[dialect])
    of_exporter = live.rows(dialect, "NodeExporter")
    both = of_kepler.merge(of_exporter, on="timestamp", suffixes=("", "_again"))
    assert len(both) >= 10
    assert both["node"].equals(both["node_again"])
    np.testing.assert_array_equal(both["package_power"], both["package_power_again"])
    apart = cpu_seconds(both, dialect) - both[LOAD].sum(axis=1)  # CPU s in windows of 1 s
    pieces = 1 + int((both["timestamp"].diff() > 1.5).sum())
    assert abs(apart.sum()) <= pieces * APART
    assert both["node_memory_available_bytes"].min() > 1e6
    assert both["node_context_switches"].min() > 0


def cpu_seconds(rows: pd.DataFrame, dialect: str) -> pd.Series:
    return rows["bpf_cpu_time_ms"] / 1000 if dialect == "legacy" else rows["cpu_seconds"]

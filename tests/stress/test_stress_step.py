"""A run that stresses its machine: real stress-ng, real Prometheus, and every step as a task of Airflow calls it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kepler_train.errors import DataError, UserError
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.plan.stored import planned
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
from kepler_train.samples.parquet import read_series
from kepler_train.samples.schedule import Schedule, parse_schedule
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import store_of
from kepler_train.spec import RunSpec
from kepler_train.stress.step import measured_node
from kepler_train.workspace import Run, open_store

KEPLER_TRAIN = [sys.executable, "-m", "kepler_train"]
# One second of the load, with 1, 2, 4 and 8 instances, between two seconds of idle.
STRESS = {"stress": True, "stress_args": ["cpu"], "stress_timeout": 1.6, "stress_break_interval": 0}
SHORT = {**STRESS, "idle_collect_interval": 3, "folds": 2, "cpu_frequency_enabled": True, "machine_id": "lab-1"}


@dataclass(frozen=True)
class Lab:
    """A machine that a real Prometheus scrapes, and a workspace."""

    home: Path
    prometheus: str
    node: str

    @property
    def run(self) -> Run:
        return Run.named(open_store(str(self.home / "w")), "lab/1")

    def start(self, step: str, run: str = "lab/1", **parameters: Any) -> subprocess.Popen[str]:
        """Start `kepler-train run-step` in the lab's folder, by which all that comes of it is known."""
        (self.home / "sys/devices/system/cpu").mkdir(parents=True, exist_ok=True)  # no cpufreq, and no lock of others
        spec = json.dumps({"pipeline": "lab", "prometheus": self.prometheus, **parameters})
        own = {"KEPLER_TRAIN_SYSFS": str(self.home / "sys"), "KEPLER_TRAIN_STRESS_STATE": str(self.home / "state")}
        two = sorted(os.sched_getaffinity(0))[:2]
        return subprocess.Popen(
            [*KEPLER_TRAIN, "run-step", step, "--workspace", str(self.home / "w"), "--run", run],
            cwd=self.home,
            env={
                **os.environ,
                **own,
                "KEPLER_TRAIN_REQUEST": "one task",
                **({"KEPLER_TRAIN_SPEC": spec} if step == "plan" else {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, two),  # the same phases on every machine
        )

    def do(self, step: str, run: str = "lab/1", code: int = 0, **parameters: Any) -> str:
        """What a step said, after it ended with this exit code."""
        started = self.start(step, run, **parameters)
        words, _ = started.communicate(timeout=120)
        assert started.returncode == code, words
        return words

    def running(self) -> list[str]:
        """Names of the living processes of the lab."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "cwd").readlink() == self.home:
                    found.append((entry / "comm").read_text().strip())
            except OSError:  # it is gone, or a zombie
                continue
        return sorted(found)

    def schedule(self) -> Schedule:
        return parse_schedule(self.run.store.read("runs/lab/1/stress/schedule.json") or b"", "stress")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A virtual meter that follows this machine's CPUs, scraped twice a second."""
    for program in ("prometheus", "stress-ng"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    home = tmp_path_factory.mktemp("lab")
    exporter = [*KEPLER_TRAIN, "simulate", "node", "--meter", "host"]
    with ExitStack() as parts:
        node = subprocess.Popen(exporter, stdout=subprocess.PIPE, text=True)
        parts.enter_context(node)  # waits for its end
        parts.callback(node.terminate)
        assert node.stdout is not None
        address = node.stdout.readline().strip().removeprefix("http://").removesuffix("/metrics")
        assert address, "the exporter did not start"
        served = PrometheusServer(home.with_name("data"), scrape={"kepler": [address]}, scrape_interval="500ms")
        yield Lab(home, parts.enter_context(served).url, address)


@pytest.fixture(scope="module")
def stressed(lab: Lab) -> Lab:
    """The lab after plan, stress and query of a run."""
    wait_for_node(lab)
    for step, parameters in {"plan": SHORT, "stress": {}, "query": {}}.items():
        lab.do(step, **parameters)
    return lab


def wait_for_node(lab: Lab) -> None:
    spec = RunSpec(prometheus=lab.prometheus)
    deadline = time.monotonic() + 20
    while True:
        try:
            assert measured_node(spec) == lab.node
            return
        except DataError:
            assert time.monotonic() < deadline, "Prometheus has scraped nothing within 20 s"
            time.sleep(0.2)


@pytest.mark.integration
def test_the_phases_of_the_run_are_on_record_with_the_node_and_the_machine(stressed: Lab) -> None:
    schedule = stressed.schedule()
    assert [(phase.load, phase.instances, phase.status) for phase in schedule.phases] == [
        ("idle", 0, "done"),
        *[("cpu", count, "done") for count in (1, 2, 4, 8)],
        ("idle", 0, "done"),
    ]
    assert schedule.phases[1].command[:5] == ["stress-ng", "--cpu", "1", "--timeout", "2"]  # 1.6 s, rounded up
    assert {phase.node for phase in schedule.phases} == {stressed.node}
    assert schedule.machine_id == "lab-1"
    assert schedule.machine is not None
    assert schedule.machine.cores == os.cpu_count()
    assert [note.split(":")[0] for note in schedule.notes] == ["The frequency sweep is left out"]
    figures = stressed.run.manifest("stress").figures  # type: ignore[union-attr]
    assert figures == {"node": stressed.node, "phases": 6, "done": 6}
    assert stressed.running() == []


@pytest.mark.integration
def test_the_window_of_the_run_is_the_time_of_its_phases(stressed: Lab) -> None:
    phases = stressed.schedule().phases
    window = planned(stressed.run).window
    assert window == (phases[0].start, phases[-1].end)
    first, last = (moment.timestamp() for moment in window)
    folder = stressed.home / "w/runs/lab/1/query"
    times = np.concatenate([one.times for one in read_series(folder, "kepler_node_package_joules_total")])
    assert first - 0.001 <= times.min() <= times.max() <= last + 0.001
    assert last - times.max() < 3  # s; the last scrapes of the last phase were not missed
    query = stressed.run.manifest("query")
    assert query is not None
    assert {(record.step, record.path) for record in query.inputs} == {
        ("plan", "spec.json"),
        ("stress", "schedule.json"),
    }


@pytest.mark.integration
def test_rows_are_labelled_with_the_loads_that_ran(stressed: Lab) -> None:
    assert "valid      BPFOnly" in stressed.do("validate")
    stressed.do("extract")
    rows = pd.read_parquet(stressed.home / "w/runs/lab/1/extract/node.parquet")
    assert {"idle", "cpu"} <= set(rows["workload"]) <= {"idle", "cpu", ""}  # in some windows the load changed
    busy = rows.groupby("workload")["bpf_cpu_time_ms"].mean() / 1000  # CPU s in a second
    assert busy["cpu"] > 0.5


@pytest.mark.integration
def test_the_retry_of_a_step_that_was_done_does_not_stress_the_machine_again(stressed: Lab) -> None:
    before = stressed.schedule()
    assert stressed.do("stress").startswith("stress: an earlier try of the same task had done it at ")
    assert stressed.schedule() == before


@pytest.mark.integration
def test_phases_changed_by_hand_are_refused(stressed: Lab) -> None:
    key = "runs/lab/1/stress/schedule.json"
    good = stressed.run.store.read(key) or b""
    stressed.run.store.write(key, good.replace(b'"cpu"', b'"gpu"'))
    try:
        words = stressed.do("query", code=2)
    finally:
        stressed.run.store.write(key, good)
    assert words == "error: The stored schedule of the run lab/1 was changed: run the stress step again.\n"


@pytest.mark.integration
def test_a_stopped_step_ends_its_load_and_leaves_no_result(stressed: Lab) -> None:
    stressed.do("plan", "lab/stopped", **STRESS, idle_collect_interval=0)
    step = stressed.start("stress", "lab/stopped")
    deadline = time.monotonic() + 30
    while "stress-ng" not in " ".join(stressed.running()):
        assert time.monotonic() < deadline
        assert step.poll() is None
        time.sleep(0.05)
    step.send_signal(signal.SIGTERM)
    words, _ = step.communicate(timeout=30)
    assert step.returncode == 128 + signal.SIGTERM, words
    assert stressed.running() == []
    assert Run.named(stressed.run.store, "lab/stopped").manifest("stress") is None
    refused = stressed.do("query", "lab/stopped", code=2)
    assert refused == "error: The run lab/stopped has no result of the step stress: run it first.\n"


@pytest.mark.integration
def test_a_step_in_which_no_load_could_run_fails(stressed: Lab) -> None:
    asked = {**STRESS, "stress_args": "nosuchload\nnor-this;nor-this-ops;1", "idle_collect_interval": 0}
    stressed.do("plan", "lab/none", **asked)
    words = stressed.do("stress", "lab/none", code=3)
    assert words.count("is left out: There is no load of this stress-ng") == 2
    assert words.endswith("error: No load could run on this machine: the log above says why for every phase.\n")
    assert Run.named(stressed.run.store, "lab/none").manifest("stress") is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"start": "2026-11-13T00:00:00Z"}, "leave start, end and schedule empty, or stress off"),
        ({"end": "2026-11-13T00:00:00Z"}, "leave start, end and schedule empty, or stress off"),
        ({"schedule": "stress.json"}, "leave start, end and schedule empty, or stress off"),
        ({"nodes": "a,b"}, "stresses one machine, not a, b: name one in nodes"),
        ({"stress_args": []}, "name loads in stress_args"),
        ({"stress_args": ["cpu;timeout;5"]}, "sets timeout, which is the schedule's"),
    ],
)
def test_what_a_run_with_stress_cannot_do_is_refused_by_its_plan(tmp_path: Path, more: dict[str, Any], said: str):
    run = Run.named(open_store(str(tmp_path)), "lab/1")
    with pytest.raises(UserError, match=said):
        run_step(STEPS["plan"], STEPS, run, RunSpec.model_validate({"pipeline": "lab", "stress": True, **more}))
    assert run.store.sizes("runs") == {}


def test_a_run_without_stress_has_no_such_step(tmp_path: Path):
    run = Run.named(open_store(str(tmp_path)), "lab/1")
    with pytest.raises(UserError, match="The run lab/1 has no step stress: its parameters do not ask for it"):
        run_step(STEPS["stress"], STEPS, run, RunSpec(pipeline="lab"))


def test_a_machine_that_prometheus_does_not_know_or_know_apart_is_not_stressed():
    history = run_nodes(Scenario(start=time.time() - 600, duration=1200, nodes=2, containers=1, phase=120, idle=120))
    names = [run.name for run in history]
    with prometheus_server(store_of(exported(history, "legacy", ["rapl-sysfs"], frozenset(), 0))) as server:

        def node(*nodes: str) -> str:
            return measured_node(RunSpec.model_validate({"prometheus": server.url, "nodes": list(nodes)}))

        assert node(names[1]) == names[1]
        with pytest.raises(UserError, match=f"counters of {', '.join(names)}: name the machine that is to be stressed"):
            node()
        with pytest.raises(UserError, match=f"counters of {', '.join(names)}, not of other: name the machine"):
            node("other")
    with prometheus_server(store_of([])) as server, pytest.raises(DataError, match="that Kepler is scraped there"):
        measured_node(RunSpec(prometheus=server.url))

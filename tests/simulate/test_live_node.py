"""The live exporter: simulated time, and this machine's own."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import requests

from kepler_train.errors import UserError
from kepler_train.simulate import exporter as exporter_module
from kepler_train.simulate.exporter import Exporter, exporter_server
from kepler_train.simulate.host_processes import GroupClock, HostProcess, load_of, read_process
from kepler_train.simulate.live import HostNode, SimulatedNode
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.node import Scenario, continued, run_node
from kepler_train.simulate.variant import Variant
from kepler_train.simulate.workloads import STRESS_LOADS

SOURCES = ["rapl-sysfs", "acpi"]


def simulated(began_ago: float = 1000.0) -> SimulatedNode:
    return SimulatedNode(Scenario(start=time.time() - began_ago, duration=3600, scrape=5.0), "box")


def values(text: str, name: str) -> dict[str, float]:
    lines = (line for line in text.splitlines() if line.startswith(name + "{"))
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


def process(pid: int, parent: int, own: float, children: float = 0.0) -> HostProcess:
    return HostProcess(pid, parent, "stress-ng-cpu", own, children, started=pid)


@pytest.mark.parametrize("dialect", ["legacy", "current"])
def test_a_scrape_is_text_that_prometheus_takes(dialect: str) -> None:
    with exporter_server(Exporter(simulated(), dialect, SOURCES, frozenset())) as server:
        answer = requests.get(f"{server.url}/metrics", timeout=10)
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "instance=" not in answer.text  # Prometheus names it
    if promtool := shutil.which("promtool"):
        checked = subprocess.run([promtool, "check", "metrics"], input=answer.text.encode(), capture_output=True)
        assert b"error while linting" not in checked.stderr
    assert ("kepler_container_bpf_cpu_time_ms_total" in answer.text) == (dialect == "legacy")


def test_idle_energy_of_a_thousand_seconds_is_14_watts_a_socket() -> None:
    text = Exporter(simulated(1000), "legacy", SOURCES, frozenset()).text()
    package = values(text, "kepler_node_package_joules_total")
    joules = [value for key, value in package.items() if 'mode="idle"' in key]
    assert joules == pytest.approx([14_000, 14_000], rel=0.02)


def test_time_does_not_end_when_the_simulated_day_does() -> None:
    node = simulated(began_ago=3599)
    before = node.run()
    node._run = replace(before, edges=before.edges - 3600)  # the day is over
    after = node.run()
    assert after.edges[0] == pytest.approx(before.edges[-1] - 3600)
    assert after.energy["package"][0, 0] == before.energy["package"][0, -1]


@pytest.fixture
def short_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_module, "CYCLE_SECONDS", 0.5)
    monkeypatch.setattr(exporter_module, "DOWN_SECONDS", {"gap": 0.25, "restart": 0.25})


def test_a_live_reset_starts_counters_again_at_0(short_cycles: None) -> None:
    exporter = Exporter(simulated(), "legacy", SOURCES, frozenset({"reset"}))
    first = values(exporter.text(), "kepler_node_package_joules_total")
    time.sleep(0.6)
    second = values(exporter.text(), "kepler_node_package_joules_total")
    assert all(second[key] < first[key] / 10 for key in first)
    assert min(second.values()) >= 0


def test_a_live_gap_answers_503_for_a_while(short_cycles: None) -> None:
    exporter = Exporter(simulated(), "legacy", SOURCES, frozenset({"gap"}))
    statuses = set()
    for _ in range(12):
        statuses.add(int(exporter.answer("/metrics", {}).status))
        time.sleep(0.05)
    assert statuses == {200, 503}


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("two-nodes", "start `simulate node` twice"),
        ("duplicate", "a second job for the same target"),
        ("clock-step", "An exporter gives no timestamps"),
    ],
)
def test_what_an_exporter_cannot_do_wrong_is_refused(fault: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Exporter(simulated(), "legacy", SOURCES, frozenset({fault}))


def test_processes_of_this_machine_keep_their_pids_and_count_on() -> None:
    node = HostNode("box")
    exporter = Exporter(node, "current", SOURCES, frozenset(), Variant(process_energy=True))
    first = values(exporter.text(), "kepler_process_cpu_seconds_total")
    time.sleep(0.3)
    second = values(exporter.text(), "kepler_process_cpu_seconds_total")
    assert first.keys() == second.keys()
    assert all(second[key] >= first[key] for key in first)


def test_a_run_that_continues_another_counts_on() -> None:
    machine = Machine(sockets=1)
    first = run_node(Scenario(start=0, duration=600, machine=machine))
    second = continued(run_node(Scenario(start=600, duration=600, machine=machine, seed=1)), first)
    assert np.all(second.energy["dram"][:, 0] == first.energy["dram"][:, -1])
    system = "system_processes"
    ended = next(done for done in first.containers if done.container.container_id == system)
    begins = next(done for done in second.containers if done.container.container_id == system)
    assert begins.counters["cpu_cycles"][0] == ended.counters["cpu_cycles"][-1]


def test_a_stat_line_is_read_whatever_the_process_is_called() -> None:
    fields = ["S", "7", *["0"] * 9, "150", "50", "30", "20", *["0"] * 4, "4242", *["0"] * 30]
    found = read_process(f"12 (a) b (c) {' '.join(fields)}\n")
    assert (found.pid, found.parent, found.name, found.started) == (12, 7, "a) b (c", 4242)
    assert (found.own, found.children) == (2.0, 0.5)  # hundredths of a second


def test_stressors_are_known_though_the_kernel_cuts_their_names() -> None:
    names = ["stress-ng-cpu", "stress-ng-l1cac", "stress-ng-vm-rw", "stress-ng-matri", "stress-ng", "python"]
    assert [load_of(name, STRESS_LOADS) for name in names] == ["cpu", "l1cache", "vm-rw", None, None, None]


def test_cpu_time_of_a_child_that_ended_is_found_in_its_parent_once() -> None:
    clock = GroupClock()
    clock.advance([process(1, 0, own=1)])
    assert clock.advance([process(1, 0, own=1), process(2, 1, own=4)]) == 4
    # The child worked one second more, ended, and its parent waited for it.
    assert clock.advance([process(1, 0, own=1, children=5)]) == 1


def test_cpu_time_never_falls_when_a_whole_family_ends() -> None:
    clock = GroupClock()
    clock.advance([])
    assert clock.advance([process(1, 0, own=1), process(2, 1, own=4), process(3, 2, own=2)]) == 7
    assert clock.advance([]) == 0
    assert clock.advance([process(9, 0, own=3)]) == 3


def test_an_orphan_goes_on_where_it_was() -> None:
    clock = GroupClock()
    clock.advance([process(1, 0, own=1), process(2, 1, own=4)])
    assert clock.advance([process(2, 1, own=6)]) == 2


def test_a_machine_without_proc_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--meter host needs"):
        HostNode("box", proc=tmp_path)


@pytest.mark.integration
def test_real_stress_ng_moves_the_virtual_meter() -> None:
    if shutil.which("stress-ng") is None:
        pytest.skip("stress-ng is not installed")
    node = HostNode("box")
    exporter = Exporter(node, "legacy", SOURCES, frozenset())
    before = exporter.text()
    stress = subprocess.Popen(["stress-ng", "--cpu", "1", "--timeout", "3", "-q"])
    try:
        for _ in range(8):
            time.sleep(0.5)
            node.run()
    finally:
        stress.wait(20)
    after = exporter.text()

    def grown(name: str, part: str) -> float:
        return sum(
            value - values(before, name)[key] for key, value in values(after, name).items() if f'"{part}"' in key
        )

    cpu_ms = grown("kepler_container_bpf_cpu_time_ms_total", "stress-ng")
    assert 600 < cpu_ms < 3300  # one CPU for three seconds, less what others took
    # The least a busy core can draw: the law at 2400 MHz, instructions and clock only.
    least_watts = 0.9**2 * (0.9 * 2.4 + 0.9 * 2.4 * 2.4)
    assert grown("kepler_node_package_joules_total", "dynamic") > 0.8 * least_watts * cpu_ms / 1000
    assert all(value >= values(before, "kepler_node_package_joules_total")[key]
               for key, value in values(after, "kepler_node_package_joules_total").items())  # fmt: skip

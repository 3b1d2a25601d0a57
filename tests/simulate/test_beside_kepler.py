"""What else is in the same Prometheus: node_exporter, a second job for the same node, and a clock that steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kepler_train.cli.app import app
from kepler_train.simulate.history import exported
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.node import NodeRun, Scenario, run_node
from kepler_train.simulate.node_exporter import node_exporter_families
from kepler_train.simulate.store import SampleStore, StoredSeries, read_store, store_of
from kepler_train.simulate.variant import Variant

BESIDE = Variant(node_exporter=True)


def stored(runs: list[NodeRun], *faults: str, variant: Variant = BESIDE) -> SampleStore:
    return store_of(exported(runs, "legacy", ["rapl-sysfs"], frozenset(faults), seed=7, variant=variant))


def select(store: SampleStore, name: str, **labels: str) -> list[StoredSeries]:
    return store.select([(k, lambda value, want=v: value == want) for k, v in labels.items()], name)


def test_cpu_seconds_by_mode_add_up_to_the_busy_cores_of_the_truth(two_nodes: list[NodeRun]) -> None:
    run = two_nodes[0]
    (family,) = (f for f in node_exporter_families(run) if f.name == "node_cpu_seconds_total")
    assert len(family.curves) == 16 * 8  # CPUs and modes
    grown = {mode: np.zeros(len(run.busy)) for mode in ("busy", "all")}
    for curve in family.curves:
        part = np.diff(curve.values)
        assert part.min() >= -1e-9
        grown["all"] += part
        if curve.labels["mode"] not in ("idle", "iowait"):
            grown["busy"] += part
    np.testing.assert_allclose(grown["busy"] / 15, run.busy, rtol=1e-9)
    np.testing.assert_allclose(grown["all"], 16 * 15, rtol=1e-9)


def test_a_full_socket_gives_its_work_to_the_others() -> None:
    run = run_node(Scenario(start=0, duration=4 * 3600, machine=Machine(sockets=3, cores_per_socket=1), phase=120))
    (family,) = (f for f in node_exporter_families(run) if f.name == "node_cpu_seconds_total")
    busy = sum(np.diff(c.values) for c in family.curves if c.labels["mode"] not in ("idle", "iowait"))
    np.testing.assert_allclose(busy / 15, np.minimum(run.busy, 3), rtol=1e-9)


def test_it_is_scraped_seven_seconds_after_kepler_under_its_own_instance(two_nodes: list[NodeRun]) -> None:
    store = stored(two_nodes)
    (kepler,) = select(store, "kepler_node_node_info", instance="node-0")
    (uname,) = select(store, "node_uname_info", instance="node-0:9100")
    assert set((uname.times - kepler.times[:-1]).tolist()) == {7000}
    assert "node_name" not in uname.labels
    assert (uname.labels["nodename"], uname.labels["job"]) == ("node-0", "node")


def test_a_restart_of_kepler_is_not_the_node_exporters_but_a_reset_is(two_nodes: list[NodeRun]) -> None:
    def falls(*faults: str) -> tuple[int, int]:
        (switches,) = select(stored(two_nodes, *faults), "node_context_switches_total", instance="node-1:9100")
        return int(np.sum(np.diff(switches.values) < 0)), int(np.sum(np.diff(switches.times) > 15_500))

    assert falls("restart") == (0, 0)
    assert falls("reset") == (2, 0)
    assert falls("gap") == (0, 3)


def test_a_second_job_shows_the_same_counters_at_its_own_moments(two_nodes: list[NodeRun]) -> None:
    store = stored(two_nodes, "duplicate", variant=Variant())
    found = select(store, "kepler_node_dram_joules_total", instance="node-0", mode="idle", package="0")
    assert [s.labels["job"] for s in found] == ["kepler", "kubernetes-pods"]
    first, second = found
    assert set((second.times - first.times[:-1]).tolist()) == {3000}
    np.testing.assert_allclose(second.values, np.interp(second.times, first.times, first.values), atol=0.002)
    assert {s.labels["job"] for s in store.series} == {"kepler", "kubernetes-pods"}


def test_a_fast_clock_moves_timestamps_and_loses_what_comes_after_it(two_nodes: list[NodeRun]) -> None:
    labels = {"instance": "node-0", "mode": "idle", "package": "0"}
    (right,) = select(stored(two_nodes), "kepler_node_package_joules_total", **labels)
    (stepped,) = select(stored(two_nodes, "clock-step"), "kepler_node_package_joules_total", **labels)
    steps = np.diff(stepped.times)
    assert np.all(steps > 0)
    jumps = np.flatnonzero(steps > 15_500)
    assert steps[jumps[0]] == 315_000  # five minutes and a scrape interval, in which one interval's energy was used
    assert np.diff(stepped.values)[jumps[0]] == pytest.approx(14 * 15, rel=0.05)
    assert len(jumps) == 1  # put right, the clock is five minutes behind the last sample: nothing until it is there
    assert len(right.times) - len(stepped.times) == 20
    np.testing.assert_array_equal(stepped.times[-100:], right.times[-100:])
    np.testing.assert_array_equal(stepped.values[-100:], right.values[-100:])


def test_the_command_line_adds_what_is_asked_for(tmp_path: Path) -> None:
    def names(*arguments: str) -> set[str]:
        out = str(tmp_path / "h.om")
        asked = ["simulate", "history", "--out", out, "--duration", "1h", "--source", "rapl-sysfs", *arguments]
        assert CliRunner().invoke(app, asked).exit_code == 0
        return {s.labels["__name__"] for s in read_store(tmp_path / "h.om").series}

    today = ("--dialect", "current")
    assert names(*today, "--container-seconds") - names(*today) == {"kepler_container_cpu_seconds_total"}
    energy = {"kepler_process_cpu_joules_total", "kepler_process_cpu_watts"}
    assert names(*today, "--process-energy") - names(*today) == energy
    assert names("--package-ratio") - names() == {"kepler_container_cpu_usage_per_package_ratio"}
    assert len(names("--node-exporter") - names()) == 15

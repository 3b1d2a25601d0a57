"""Series of Kepler 0.10 and later: the same labels as a real 0.11.4, and processes that come and go."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from kepler_train.simulate.history import exported
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.store import SampleStore, StoredSeries, store_of
from kepler_train.simulate.variant import Variant

EVERYTHING = Variant(container_seconds=True, process_energy=True)


@pytest.fixture(scope="module")
def store(two_nodes: list[NodeRun]) -> SampleStore:
    return store_of(exported(two_nodes, "current", ["rapl-sysfs"], frozenset(), seed=7, variant=EVERYTHING))


def of_node(store: SampleStore, name: str, node: str = "node-0") -> list[StoredSeries]:
    return store.select([("instance", lambda value: value == node)], name)


def grown_by_container(series: list[StoredSeries]) -> dict[str, float]:
    """Increase of every series over its own life, summed by container."""
    total: dict[str, float] = defaultdict(float)
    for s in series:
        total[s.labels.get("container_id", "")] += s.values[-1] - s.values[0]
    return total


def test_labels_are_those_of_a_real_kepler(store: SampleStore, kepler_recording: Path) -> None:
    real = json.loads(gzip.decompress((kepler_recording / "raw.json.gz").read_bytes()))
    compared = 0
    for name, series in real.items():
        if name.startswith("kepler_"):
            wanted = {frozenset(s["metric"]) for s in series}
            # The recording was made without Kubernetes, so its containers have no pods.
            found = {frozenset(s.labels) - {"pod_id"} for s in of_node(store, name)}
            assert found == wanted, name
            compared += 1
    assert compared == 14


def test_cpu_seconds_of_a_container_are_the_sum_over_processes_that_come_and_go(
    store: SampleStore, two_nodes: list[NodeRun]
) -> None:
    processes = of_node(store, "kepler_process_cpu_seconds_total")
    by_process = grown_by_container(processes)
    by_container = grown_by_container(of_node(store, "kepler_container_cpu_seconds_total"))
    counts = defaultdict(int)
    for process in processes:
        counts[process.labels.get("container_id", "")] += 1
    assert counts[""] == 3  # systemd, kubelet, containerd: outside containers
    assert min(count for container, count in counts.items() if container) >= 3
    assert len(by_container) == len(by_process) - 1
    for done in two_nodes[0].containers:
        c = done.container
        truth = float(c.busy.sum() * 15)  # CPU seconds
        key = "" if c.container_id == "system_processes" else c.container_id
        assert by_process[key] == pytest.approx(truth, abs=0.011 * counts[key])  # each shows hundredths
        if key:
            assert by_container[key] == pytest.approx(truth, abs=0.011)


def test_a_pid_belongs_to_one_process(store: SampleStore) -> None:
    pids = [s.labels["pid"] for s in of_node(store, "kepler_process_cpu_seconds_total")]
    assert len(pids) == len(set(pids)) > 40


def test_energy_of_workloads_has_every_zone_and_processes_add_up_to_their_container(store: SampleStore) -> None:
    for level in ("process", "container", "pod"):
        zones = {s.labels["zone"] for s in of_node(store, f"kepler_{level}_cpu_joules_total")}
        assert zones == set(RAPL_COMPONENTS) == {s.labels["zone"] for s in of_node(store, f"kepler_{level}_cpu_watts")}

    def running(level: str) -> dict[str, float]:
        series = of_node(store, f"kepler_{level}_cpu_joules_total")
        return grown_by_container(
            [s for s in series if (s.labels["state"], s.labels["zone"]) == ("running", "package")]
        )

    processes, containers = running("process"), running("container")
    assert len(containers) > 10
    for container, joules in containers.items():
        assert processes[container] == pytest.approx(joules, abs=0.05)


def test_a_workload_that_ended_is_shown_once_more_as_terminated(store: SampleStore, two_nodes: list[NodeRun]) -> None:
    run = two_nodes[0]
    stress = next(done for done in run.containers if done.container.pod == "stress-0-0")
    joules = [
        s
        for s in of_node(store, "kepler_container_cpu_joules_total")
        if s.labels["container_id"] == stress.container.container_id and s.labels["zone"] == "package"
    ]
    running, terminated = sorted(joules, key=lambda s: s.labels["state"])
    assert [running.labels["state"], terminated.labels["state"]] == ["running", "terminated"]
    assert (terminated.times / 1000).tolist() == [run.edges[stress.container.last + 1]]
    assert terminated.values[0] == running.values[-1]
    background = [
        s for s in of_node(store, "kepler_container_cpu_joules_total") if s.labels["container_name"] == "etcd"
    ]
    assert {s.labels["state"] for s in background} == {"running"}


def test_a_terminated_workload_is_shown_once_however_late_the_scrapes(two_nodes: list[NodeRun]) -> None:
    faults = frozenset({"late", "restart"})
    late = store_of(exported(two_nodes, "current", ["rapl-sysfs"], faults, seed=7))
    found = [s for s in of_node(late, "kepler_container_cpu_joules_total") if s.labels["state"] == "terminated"]
    assert len(found) > 20
    assert {len(s.times) for s in found} == {1}


def test_watts_are_the_joules_of_the_interval_that_ended(store: SampleStore) -> None:
    (joules,), (watts,) = (
        [s for s in of_node(store, f"kepler_node_cpu_{name}") if s.labels["zone"] == "package"]
        for name in ("active_joules_total", "active_watts")
    )
    np.testing.assert_allclose(np.diff(joules.values) / 15, watts.values[1:], atol=0.001)


def test_the_usual_series_are_few(two_nodes: list[NodeRun]) -> None:
    usual = store_of(exported(two_nodes, "current", ["rapl-sysfs"], frozenset(), seed=7))
    names = {s.labels["__name__"] for s in usual.series}
    assert "kepler_container_cpu_watts" in names
    assert not names & {"kepler_container_cpu_seconds_total", "kepler_process_cpu_joules_total"}


def test_package_ratios_of_legacy_containers_add_up_to_1(two_nodes: list[NodeRun]) -> None:
    variant = Variant(package_ratio=True)
    legacy = store_of(exported(two_nodes, "legacy", ["rapl-sysfs"], frozenset(), seed=7, variant=variant))
    total: dict[int, float] = defaultdict(float)
    for s in of_node(legacy, "kepler_container_cpu_usage_per_package_ratio"):
        assert s.labels["pkg_id"] in ("0", "1")
        for time, value in zip(s.times[1:].tolist(), s.values[1:].tolist(), strict=True):
            total[time] += value
    assert len(total) == 720  # three hours
    np.testing.assert_allclose(list(total.values()), 1, atol=1e-4)
    assert [s.labels["version"] for s in of_node(legacy, "kepler_exporter_build_info")] == ["v0.7.12"]

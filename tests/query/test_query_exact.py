"""Every raw sample that Prometheus holds comes out of a query, once, as it was scraped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from known_samples import END, START, as_read, collected, held, resampled

from kepler_train.errors import DataError, UserError
from kepler_train.local.prometheus import PrometheusServer
from kepler_train.query import chunks
from kepler_train.query.samples import query_samples
from kepler_train.simulate.faults import DATA_FAULTS
from kepler_train.simulate.history import exported, write_history
from kepler_train.simulate.machine import Machine
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.prometheus_server import prometheus_server
from kepler_train.simulate.store import SampleStore, store_of
from kepler_train.simulate.variant import Variant
from kepler_train.spec import RunSpec

ENERGY = [f"kepler_node_{part}_joules_total" for part in ("package", "core", "uncore", "dram", "platform")]
WANTED = [*ENERGY, "kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total"]
MakeSpec = Callable[..., RunSpec]


@pytest.fixture(scope="module")
def today(two_nodes: list[NodeRun]) -> list[Any]:
    """The same nodes as a Kepler of today exports them."""
    return exported(two_nodes, "current", ["rapl-sysfs"], frozenset({"late"}), seed=4)


@pytest.fixture(scope="module")
def real(recording: list[Any], today: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's Prometheus with both dialects in it."""
    if not shutil.which("prometheus"):
        pytest.skip("needs Debian's prometheus")
    home = tmp_path_factory.mktemp("prometheus")
    server = PrometheusServer(home / "data")
    for name, nodes in (("legacy", recording), ("current", today)):
        write_history(home / f"{name}.om", nodes)
        server.fill(home / f"{name}.om")
    with server:
        yield server.url


@pytest.mark.integration
@pytest.mark.parametrize("longest", [24 * 3600_000, 1_000_000])
def test_every_sample_of_real_prometheus_comes_out_once(
    longest: int, real: str, store: SampleStore, spec: MakeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LONGEST_CHUNK", longest)
    figures = query_samples(spec(real, dialect="legacy"), tmp_path)
    expected = held(store, WANTED)
    assert collected(tmp_path) == expected
    assert as_read(tmp_path) == expected
    assert figures["samples"] == sum(len(times) for by in expected.values() for times, _ in by.values())
    assert figures["series"] == sum(len(by) for by in expected.values())


@pytest.mark.integration
def test_the_first_and_the_last_sample_of_the_window_are_in_it(
    real: str, store: SampleStore, spec: MakeSpec, tmp_path: Path
) -> None:
    package = next(iter(held(store, ENERGY[:1]).values()))
    times = sorted({time for own, _ in package.values() for time in own})
    start, end = times[100] / 1000, times[200] / 1000
    query_samples(spec(real, start, end, dialect="legacy"), tmp_path)
    found = collected(tmp_path)
    assert found == held(store, WANTED, start, end)
    shown = {time for own, _ in found[ENERGY[0]].values() for time in own}
    assert (min(shown), max(shown)) == (times[100], times[200])


@pytest.mark.integration
def test_one_node_of_two_is_kept_apart(real: str, store: SampleStore, spec: MakeSpec, tmp_path: Path) -> None:
    query_samples(spec(real, dialect="legacy", nodes="node-1"), tmp_path)
    whole = held(store, WANTED)
    own = {m: {k: v for k, v in by.items() if ("instance", "node-1") in k} for m, by in whole.items()}
    assert collected(tmp_path) == own


@pytest.mark.integration
@pytest.mark.parametrize("longest", [24 * 3600_000, 1_000_000])
def test_every_sample_of_current_kepler_comes_out_once(
    longest: int, real: str, today: list[Any], spec: MakeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LONGEST_CHUNK", longest)
    query_samples(spec(real, dialect="current", energy_sources="rapl-sysfs", feature_groups="CPUTime"), tmp_path)
    found = collected(tmp_path)
    assert found.keys() >= {"kepler_node_cpu_joules_total", "kepler_process_cpu_seconds_total"}
    assert found == held(store_of(today), list(found))
    assert {dict(labels)["node_name"] for labels in found["kepler_node_cpu_joules_total"]} == {"node-0", "node-1"}


@pytest.mark.integration
def test_two_dialects_in_one_prometheus_are_a_question_to_the_user(real: str, spec: MakeSpec, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dialect = legacy or current"):
        query_samples(spec(real, energy_sources="rapl-sysfs", feature_groups="BPFOnly,CPUTime"), tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize(("group", "dialect"), [("BPFOnly", "legacy"), ("CPUTime", "current")])
def test_of_two_dialects_the_one_with_the_features_is_taken(
    group: str, dialect: str, real: str, spec: MakeSpec, tmp_path: Path
) -> None:
    asked = spec(real, energy_sources="rapl-sysfs", feature_groups=group)
    assert query_samples(asked, tmp_path)["dialect"] == dialect


@pytest.mark.integration
@pytest.mark.parametrize(("step", "points"), [(2, 10_000), (7.5, 100)])
def test_with_a_step_each_point_is_the_last_sample_of_the_five_minutes_before(
    step: float,
    points: int,
    real: str,
    store: SampleStore,
    spec: MakeSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "POINTS_PER_SERIES", points)  # of 14,400 every 2 s, too many for one answer
    start, end = START + 0.001, END - 0.5  # edges beside the points
    asked = spec(real, start, end, dialect="legacy", nodes="node-0", energy_sources="rapl-sysfs")
    figures = query_samples(asked, tmp_path, step)
    whole = resampled(store, WANTED, step, start, end)
    expected = {m: {k: v for k, v in by.items() if ("instance", "node-0") in k} for m, by in whole.items()}
    expected.pop("kepler_node_platform_joules_total")
    assert collected(tmp_path) == expected
    assert figures["samples"] == sum(len(times) for by in expected.values() for times, _ in by.values())


def test_with_a_step_too_a_chunk_that_is_too_large_is_split(store: SampleStore, spec: MakeSpec, tmp_path: Path) -> None:
    with prometheus_server(store, max_samples=2000) as server:
        query_samples(spec(server.url, START, START + 3600), tmp_path, 5)
    assert collected(tmp_path) == resampled(store, WANTED, 5, START, START + 3600)


@pytest.mark.parametrize("fault", sorted(DATA_FAULTS))
def test_what_befalls_a_node_comes_out_as_it_is_in_prometheus(fault: str, spec: MakeSpec, tmp_path: Path) -> None:
    scenario = Scenario(
        start=START,
        duration=3600,
        nodes=2 if fault == "two-nodes" else 1,
        containers=2,
        machine=Machine(sockets=1, cores_per_socket=2),
    )
    faulty = store_of(exported(run_nodes(scenario), "legacy", ["rapl-sysfs"], frozenset({fault}), seed=5))
    with prometheus_server(faulty) as server:
        query_samples(spec(server.url, START, START + 3600, energy_sources="rapl-sysfs"), tmp_path)
    assert collected(tmp_path) == held(faulty, WANTED, START, START + 3600)


def test_a_chunk_that_is_too_large_is_split_until_it_passes(store: SampleStore, spec: MakeSpec, tmp_path: Path) -> None:
    with prometheus_server(store, max_samples=3000) as server:
        query_samples(spec(server.url), tmp_path)
    assert collected(tmp_path) == held(store, WANTED)


def test_metrics_without_samples_are_said_in_one_line(
    store: SampleStore, spec: MakeSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with prometheus_server(store) as server:
        query_samples(spec(server.url, feature_groups="BPFOnly,KubeletOnly"), tmp_path)
    said = [line for line in capsys.readouterr().out.splitlines() if "no samples" in line]
    assert said == [
        "query: 2 of 9 metrics have no samples in the window:"
        " kepler_container_kubelet_cpu_usage_total, kepler_container_kubelet_memory_bytes_total"
    ]


def test_a_window_without_samples_says_so(store: SampleStore, spec: MakeSpec, tmp_path: Path) -> None:
    with prometheus_server(store) as server, pytest.raises(DataError, match="no energy counters of Kepler"):
        query_samples(spec(server.url, START - 7200, START - 3600), tmp_path)
    with prometheus_server(store) as server, pytest.raises(DataError, match="of the nodes node-7"):
        query_samples(spec(server.url, END - 3600, END, nodes="node-7"), tmp_path)


def test_of_other_exporters_too_only_the_chosen_nodes_are_asked_for(
    two_nodes: list[NodeRun], spec: MakeSpec, tmp_path: Path
) -> None:
    beside = exported(two_nodes, "current", ["rapl-sysfs"], frozenset(), 4, Variant(node_exporter=True))
    asked = {"feature_groups": "NodeExporter", "output_types": "AbsPower", "energy_sources": "rapl-sysfs"}
    with prometheus_server(store_of(beside)) as server:
        query_samples(spec(server.url, nodes="node-1", **asked), tmp_path)
    found = collected(tmp_path)
    whole = held(store_of(beside), list(found))
    assert len(found) == 10  # energy, and nine metrics of node_exporter
    for metric, series in found.items():
        target = "node-1" if metric.startswith("kepler_") else "node-1:9100"
        assert series == {key: own for key, own in whole[metric].items() if ("instance", target) in key}

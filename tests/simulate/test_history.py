"""What `simulate history` writes: text, truth and schedule."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kepler_train.cli.app import app
from kepler_train.errors import KeplerTrainError
from kepler_train.simulate.faults import DATA_FAULTS
from kepler_train.simulate.history import exported
from kepler_train.simulate.meter import noise_floor
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.openmetrics import write_openmetrics
from kepler_train.simulate.store import SampleStore, read_store, store_of
from kepler_train.simulate.whole_files import replacing

PACKAGE = "kepler_node_package_joules_total"
SOURCES = ["rapl-sysfs", "acpi"]
START = 1_794_614_400.0


def stored(runs: list[NodeRun], *faults: str, dialect: str = "legacy") -> SampleStore:
    return store_of(exported(runs, dialect, SOURCES, frozenset(faults), seed=7))


def one(store: SampleStore, name: str, **labels: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = store.select([(k, lambda value, want=v: value == want) for k, v in labels.items()], name)
    return found.times / 1000, found.values


def call(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["simulate", *arguments], catch_exceptions=True)
    if isinstance(done.exception, KeplerTrainError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    call(
        "history", "--out", str(folder / "h.om"), "--truth", str(folder / "t.parquet"),
        "--truth-containers", str(folder / "c.parquet"), "--schedule", str(folder / "s.json"),
        "--duration", "4h", "--start", "2026-11-14T00:00:00Z", "--nodes", "2", "--machine-id", "box",
    )  # fmt: skip
    return folder


@pytest.mark.parametrize(("umask", "mode"), [(0o022, "0o644"), (0o077, "0o600")])
def test_who_may_read_a_history_is_for_the_umask_to_say(tmp_path: Path, umask: int, mode: str) -> None:
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "node.om") as beside:
            beside.write_text("# EOF\n")
    finally:
        os.umask(before)
    assert [(path.name, oct(path.stat().st_mode & 0o777)) for path in tmp_path.iterdir()] == [("node.om", mode)]


def test_the_schedule_says_which_load_ran_when(files: Path) -> None:
    schedule = json.loads((files / "s.json").read_text())
    assert schedule["machine_id"] == "box"
    first, second = schedule["phases"][:2]
    assert first == {
        "name": "idle",
        "load": "idle",
        "instances": 0,
        "frequency_mhz": 1200,
        "node": "node-0",
        "start": "2026-11-14T00:00:00Z",
        "end": "2026-11-14T00:10:00Z",
    }
    assert second["name"] == f"{second['load']} x{second['instances']} @{second['frequency_mhz']}MHz"
    assert second["start"] == first["end"]
    assert {phase["node"] for phase in schedule["phases"]} == {"node-0", "node-1"}


def test_truth_carries_the_noise_floor_of_its_meters(files: Path) -> None:
    table = pq.read_table(files / "t.parquet")
    noise = json.loads(table.schema.metadata[b"kepler_train.noise"])
    assert noise["interval_seconds"] == 15
    assert noise["floor_watts"]["package"] == pytest.approx(0.903, abs=0.001)
    assert table.num_rows == 2 * 4 * 240  # two nodes, four hours, 240 intervals an hour


def test_truth_of_a_node_is_truth_of_its_containers_plus_idle(files: Path) -> None:
    nodes, containers = pq.read_table(files / "t.parquet"), pq.read_table(files / "c.parquet")
    summed = containers.group_by(["time", "node"]).aggregate([("package_dynamic_watts", "sum")])
    both = nodes.join(summed, keys=["time", "node"])
    dynamic = pc.subtract(both["package_watts"], both["package_idle_watts"])
    np.testing.assert_allclose(dynamic, both["package_dynamic_watts_sum"], rtol=1e-9)


def test_energy_in_the_text_is_the_metered_energy_of_the_truth(files: Path) -> None:
    store, truth = read_store(files / "h.om"), pq.read_table(files / "t.parquet").to_pandas()
    truth = truth[truth["node"] == "node-0"]
    series = store.select([("instance", lambda value: value == "node-0")], PACKAGE)
    assert len(series) == 4  # two sockets, two modes
    watts = np.diff(sum(s.values for s in series)) / 15
    np.testing.assert_allclose(watts, truth["package_metered_watts"], atol=4 * 0.001 / 15 + 1e-9)
    assert (series[0].times[1:] / 1000).tolist() == [t.timestamp() for t in truth["time"]]


def test_stress_containers_come_and_go_with_their_phase(two_nodes: list[NodeRun]) -> None:
    run = two_nodes[0]
    times, values = one(
        stored(two_nodes), "kepler_container_cpu_cycles_total", instance="node-0", pod_name="stress-0-0"
    )
    phase = run.phases[1]
    assert (times[0], times[-1]) == (run.edges[phase.first], run.edges[phase.last])
    assert values[0] == 0
    assert len(values) == 21  # five minutes in steps of 15 s, both ends


def test_nodes_are_scraped_at_their_own_moments(two_nodes: list[NodeRun]) -> None:
    store = stored(two_nodes)
    (first, _), (second, _) = (one(store, "kepler_node_node_info", instance=node) for node in ("node-0", "node-1"))
    assert second[0] - first[0] == pytest.approx(4.2)


def test_a_reset_starts_again_at_0_between_two_scrapes(two_nodes: list[NodeRun]) -> None:
    labels = {"instance": "node-0", "mode": "idle", "package": "0"}
    times, whole = one(stored(two_nodes), PACKAGE, **labels)
    _, values = one(stored(two_nodes, "reset"), PACKAGE, **labels)
    falls = np.flatnonzero(np.diff(values) < 0)
    assert len(falls) == 2
    after = values[falls[0] + 1]
    assert after == pytest.approx(14 * 7.5, abs=0.5)  # half an interval of 14 W idle since the reset
    assert values[falls[0]] == whole[falls[0]]
    np.testing.assert_allclose(np.diff(values)[: falls[0]], np.diff(whole)[: falls[0]])
    assert len(times) == len(values)


def test_an_exporter_restart_misses_two_scrapes_and_forgets_its_counters(two_nodes: list[NodeRun]) -> None:
    labels = {"instance": "node-0", "pod_name": "etcd"}
    times, values = one(stored(two_nodes, "restart"), "kepler_container_cpu_cycles_total", **labels)
    missed = np.flatnonzero(np.diff(times) > 15.5)
    assert np.diff(times)[missed].tolist() == [45, 45]
    assert np.all(values[missed + 1] < values[missed])
    assert np.sum(np.diff(values) < 0) == 2


def test_the_current_exporter_forgets_shares_but_not_what_hardware_and_kernel_count(two_nodes: list[NodeRun]) -> None:
    store = stored(two_nodes, "restart", dialect="current")
    _, joules = one(store, "kepler_node_cpu_joules_total", node_name="node-0", zone="package")
    assert joules[0] == 184_467
    assert np.all(np.diff(joules) > 0)
    etcd = [("node_name", lambda value: value == "node-0"), ("comm", lambda value: value == "etcd")]
    seconds = store.select(etcd, "kepler_process_cpu_seconds_total")
    assert len(seconds) > 3  # its workers come and go
    assert all(np.all(np.diff(process.values) >= 0) for process in seconds)
    _, shares = one(
        store, "kepler_container_cpu_joules_total", node_name="node-0", container_name="etcd", zone="package"
    )
    assert np.sum(np.diff(shares) < 0) == 2


def test_active_energy_is_shared_out_among_containers_by_cpu_time(two_nodes: list[NodeRun]) -> None:
    run = two_nodes[0]
    ended = {done.container.container_id: done.shared_energy["package"][-1] for done in run.containers}
    assert sum(ended.values()) == pytest.approx(run.active_energy["package"][-1])
    assert run.active_energy["package"][-1] < run.energy["package"].sum(axis=0)[-1]


def test_a_gap_is_time_without_samples_and_counters_go_on_behind_it(two_nodes: list[NodeRun]) -> None:
    times, values = one(stored(two_nodes, "gap"), PACKAGE, instance="node-0", mode="idle", package="1")
    gaps = np.flatnonzero(np.diff(times) > 15.5)
    assert np.diff(times)[gaps].tolist() == [435, 435, 435]  # seven minutes without a scrape
    assert np.diff(values)[gaps] == pytest.approx(435 * 14, rel=0.02)


def test_late_scrapes_keep_their_order_and_read_the_counter_when_they_come(two_nodes: list[NodeRun]) -> None:
    labels = {"instance": "node-0", "mode": "idle", "package": "0"}
    exact_times, exact = one(stored(two_nodes), PACKAGE, **labels)
    times, values = one(stored(two_nodes, "late"), PACKAGE, **labels)
    late = times - exact_times
    assert 0.25 < np.mean(late > 0) < 0.42
    assert late.max() <= 9
    assert np.all(np.diff(times) > 0)
    np.testing.assert_allclose(values, np.interp(times, exact_times, exact), atol=0.002)


def test_a_zero_power_component_has_series_that_stay_at_0(two_nodes: list[NodeRun]) -> None:
    store = stored(two_nodes, "zero-power")
    uncore = store.select([], "kepler_node_uncore_joules_total")
    assert len(uncore) == 8  # two nodes, two sockets, two modes
    assert all(not s.values.any() for s in uncore)
    assert two_nodes[0].true_watts("uncore").min() >= 6  # the truth does not know


def test_two_nodes_on_request_share_one_file(tmp_path: Path) -> None:
    call("history", "--out", str(tmp_path / "h.om"), "--duration", "1h", "--fault", "two-nodes")
    found = read_store(tmp_path / "h.om").select([], "kepler_node_node_info")
    assert [s.labels["instance"] for s in found] == ["node-0", "node-1"]


def test_the_same_seed_gives_the_same_text_and_another_seed_another() -> None:
    def text(seed: int) -> str:
        out = io.StringIO()
        runs = run_nodes(Scenario(start=START, duration=3600, seed=seed))
        write_openmetrics(out, exported(runs, "legacy", SOURCES, frozenset({"late"}), seed))
        return out.getvalue()

    assert text(1) == text(1) != text(2)


def test_every_family_is_written_once_and_the_text_ends(files: Path) -> None:
    lines = (files / "h.om").read_text().splitlines()
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    assert "kepler_container_bpf_cpu_time_ms" in types  # a family's name has no _total
    assert lines[-1] == "# EOF"


def test_written_text_reads_back_as_the_same_samples(files: Path) -> None:
    runs = run_nodes(Scenario(start=START, duration=4 * 3600, nodes=2))
    direct, read = stored(runs), read_store(files / "h.om")
    assert [s.labels for s in direct.series] == [s.labels for s in read.series]
    for a, b in zip(direct.series, read.series, strict=True):
        np.testing.assert_array_equal(a.times, b.times)
        np.testing.assert_array_equal(a.values, b.values)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fault", "gapp"], "There is no fault 'gapp': did you mean 'gap'?"),
        (["--dialect", "modern"], "There is no dialect 'modern'"),
        (["--source", "rapl"], "There is no energy source 'rapl'"),
        (["--source", "acpi", "--source", "hmc"], "two meters of the same kind"),
        (["--duration", "2x"], "--duration '2x' is not a length of time"),
        (["--duration", "0"], "--duration '0' is not a length of time"),
        (["--duration", "30s"], "fewer than four scrapes"),
        (["--start", "noon"], "--start 'noon' is not a time"),
        (["--containers", "2"], "--containers 2 is out of range: give 4 to 1000."),
        (["--scrape", "0"], "--scrape 0 is too short"),
        (["--seed", "-1"], "--seed -1 is out of range"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_file(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    with pytest.raises(KeplerTrainError, match=r"\w") as refused:
        call("history", "--out", str(tmp_path / "h.om"), *arguments)
    assert sentence in str(refused.value)
    assert refused.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(KeplerTrainError, match=r"Cannot write .*: No such file or directory"):
        call("history", "--out", str(tmp_path / "nowhere" / "h.om"), "--duration", "1h")


def test_every_fault_is_described() -> None:
    assert set(DATA_FAULTS) == {
        "reset", "gap", "late", "restart", "two-nodes", "duplicate", "clock-step", "zero-power", "skew",
    }  # fmt: skip


def test_a_sweep_runs_every_load_at_every_frequency() -> None:
    (run,) = run_nodes(Scenario(start=START, duration=86400, sweep=True, phase=120, idle=60))
    seen = {(phase.load, phase.frequency_mhz) for phase in run.phases if phase.load != "idle"}
    assert len(seen) == 7 * 3
    assert noise_floor(run.machine)["package"] < 1


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        "--dialect legacy --fault gap --fault late --fault restart --fault reset",
        "--dialect current --fault gap --fault late --fault restart --fault reset",
        "--dialect current --fault duplicate --fault clock-step --fault late --container-seconds --node-exporter",
    ],
)
def test_promtool_loads_all_of_it(tmp_path: Path, options: str) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    call("history", "--out", str(tmp_path / "h.om"), "--duration", "3h", *options.split())
    load = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=64h"]
    subprocess.run([*load, str(tmp_path / "h.om"), str(tmp_path / "data")], check=True, capture_output=True, timeout=60)
    (tmp_path / "data" / "wal").mkdir()  # promtool 2.42 dumps nothing without one
    dump = subprocess.run(
        ["promtool", "tsdb", "dump", str(tmp_path / "data")], check=True, capture_output=True, text=True, timeout=60
    )
    held = sum(len(s.times) for s in read_store(tmp_path / "h.om").series)
    assert len(dump.stdout.splitlines()) == held

"""The verdict on whole queries: hand-made, simulated with known faults, and of real machines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from handmade import T0, at, meter, series, written
from hypothesis import given, settings
from hypothesis import strategies as st
from known_samples import END, START

from kepler_train.catalog import catalog
from kepler_train.cli import main
from kepler_train.errors import DataError
from kepler_train.samples.kepler_query_json import import_json
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.history import exported
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.schedule import phase_records
from kepler_train.simulate.store import store_of
from kepler_train.spec import RunSpec
from kepler_train.validate.judging import judge_samples
from kepler_train.validate.node_health import NodeHealth
from kepler_train.validate.outcome import VERDICT, GroupVerdict, Verdict
from kepler_train.validate.refresh import Refresh
from kepler_train.validate.text import node_lines
from kepler_train.validate.timing import Gaps
from kepler_train.validate.verdict import check_verdict, verdict

GRID = T0 + 15.0 * np.arange(100)
CPU_TIME = "kepler_container_bpf_cpu_time_ms_total"
CACHE_HITS = "kepler_container_bpf_page_cache_hit_total"
PACKAGE = "kepler_node_package_joules_total"


def node(name: str = "node-0", watts: float = 50.0, **scraped: str) -> dict[str, list[Series]]:
    """A node with a package meter and the two features of BPFOnly."""
    labels = {"instance": name, **scraped}
    return {
        PACKAGE: [at(GRID, meter(watts, GRID), **labels, package="0", mode="dynamic", source="rapl-sysfs")],
        CPU_TIME: [at(GRID, meter(300, GRID), **labels, container_id="a")],
        CACHE_HITS: [at(GRID, meter(20, GRID), **labels, container_id="a")],
    }


def together(*nodes: dict[str, list[Series]]) -> dict[str, list[Series]]:
    return {metric: [one for own in nodes for one in own.get(metric, [])] for metric in nodes[0]}


def texts(found: Verdict) -> str:
    return "\n".join(f"{one.importance}: {one.node}: {one.text}" for one in found.warnings)


def test_a_sound_node_has_nothing_to_look_at(tmp_path: Path) -> None:
    found = verdict(RunSpec(), written(tmp_path, node()))
    assert found.warnings == []
    assert found.groups["BPFOnly"] == GroupVerdict(valid=True, missing={}, reasons={}, left_out={})
    health = found.health["node-0"]
    assert (health.scrapes, health.scrape_interval, health.complete) == (100, 15, 99)
    power = health.meters["rapl-sysfs/package"].power
    assert (power.mean, power.least, power.most) == pytest.approx((50, 50, 50))
    check_verdict(RunSpec(), found, to_train=True)
    json.dumps(found.content(), allow_nan=False)


def test_a_meter_scraped_by_two_jobs_is_a_warning_and_its_power_is_right(tmp_path: Path) -> None:
    found = verdict(RunSpec(), written(tmp_path, together(node(job="a"), node(job="b"))))
    assert f"wrong power: node-0: 1 series of {PACKAGE} are scraped twice: one of each counts" in texts(found)
    assert found.metrics[PACKAGE]["node-0"].duplicate_series == 1
    assert found.health["node-0"].meters["rapl-sysfs/package"].power.mean == pytest.approx(50)
    check_verdict(RunSpec(), found)


def test_samples_dropped_for_their_time_are_counted(tmp_path: Path) -> None:
    samples = node()
    samples[CPU_TIME] = [replace(samples[CPU_TIME][0], doubled=3)]
    found = verdict(RunSpec(), written(tmp_path, samples))
    assert found.metrics[CPU_TIME]["node-0"].doubled == 3
    assert texts(found) == f"remark: node-0: 3 samples of {CPU_TIME} had the time of another and were dropped"


def test_the_worst_is_said_first(tmp_path: Path) -> None:
    samples = node(watts=90_000)
    samples["kepler_node_uncore_joules_total"] = [at(GRID, np.zeros(100), instance="node-0", source="rapl-sysfs")]
    kept = np.delete(np.arange(100), range(40, 60))
    left = {
        metric: [replace(one, times=one.times[kept], values=one.values[kept])] for metric, (one,) in samples.items()
    }
    found = verdict(RunSpec(), written(tmp_path, left))
    assert [one.importance for one in found.warnings] == ["wrong power", "lost data", "remark"]
    assert "rapl-sysfs/package shows up to 90,000 W" in found.warnings[0].text
    assert found.warnings[1].text == "20% of the scrapes are missing"
    assert found.warnings[2].text == "rapl-sysfs/uncore never moves: there is nothing to learn"


def test_a_meter_that_is_refreshed_more_rarely_than_scraped_is_said(tmp_path: Path) -> None:
    grid = T0 + 3.0 * np.arange(400)
    samples = node()
    samples[PACKAGE] = [at(grid, meter(50, grid, 5.0), instance="node-0", source="rapl-sysfs")]
    found = verdict(RunSpec(), written(tmp_path, samples))
    refresh = found.health["node-0"].meters["rapl-sysfs/package"].refresh
    assert refresh.interval == pytest.approx(5, rel=0.02)
    assert not refresh.at_most
    assert "refreshed every 5 s but scraped every 3 s" in texts(found)


def test_a_group_without_data_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    samples = node()
    del samples[CACHE_HITS]
    spec = RunSpec(feature_groups=["BPFOnly", "CPUTime"])
    found = verdict(spec, written(tmp_path, samples))
    assert found.groups["BPFOnly"].missing == {"node-0": [CACHE_HITS]}
    with pytest.raises(DataError, match=rf"No data for feature group BPFOnly on node node-0: {CACHE_HITS} missing;"):
        check_verdict(spec, found)


def test_a_group_whose_features_never_change_is_not_valid(tmp_path: Path) -> None:
    samples = node()
    for metric in (CPU_TIME, CACHE_HITS):
        samples[metric] = [replace(samples[metric][0], values=np.zeros(100))]
    found = verdict(RunSpec(), written(tmp_path, samples))
    assert found.groups["BPFOnly"].reasons == {"node-0": "none of its features ever changes"}
    assert f"remark: node-0: never changing: {CPU_TIME}, {CACHE_HITS}" in texts(found)


def test_a_node_that_cannot_serve_stops_only_those_who_named_it(tmp_path: Path) -> None:
    broken = node("node-1")
    broken[PACKAGE] = [replace(broken[PACKAGE][0], values=np.full(100, 5.0))]
    samples = written(tmp_path, together(node(), broken))
    found = verdict(RunSpec(), samples)
    assert found.health["node-0"].unusable == ""
    check_verdict(RunSpec(), found)
    with pytest.raises(DataError, match=r"^The energy counters of node node-1 never move: the meter"):
        check_verdict(RunSpec(nodes=["node-1"]), verdict(RunSpec(nodes=["node-1"]), samples))
    with pytest.raises(DataError, match="no energy counters of the node node-7, only of node-0, node-1"):
        verdict(RunSpec(nodes=["node-7"]), samples)


def test_only_the_asked_nodes_are_judged(tmp_path: Path) -> None:
    samples = written(tmp_path, together(node(), node("node-1", watts=90_000)))
    found = verdict(RunSpec(nodes=["node-0"]), samples)
    assert (found.nodes, found.warnings) == (["node-0"], [])
    assert set(found.metrics[PACKAGE]) == {"node-0"}


def test_a_window_too_short_to_hold_rows_out_is_refused_only_for_training(tmp_path: Path) -> None:
    samples = {metric: [series(one.values[:10], **one.labels) for one in many] for metric, many in node().items()}
    found = verdict(RunSpec(), written(tmp_path, samples))
    check_verdict(RunSpec(), found)
    with pytest.raises(DataError, match=r"^9 whole scrape intervals are too few to train on, 10 are needed"):
        check_verdict(RunSpec(), found, to_train=True)


def test_without_energy_there_is_nothing_to_judge(tmp_path: Path) -> None:
    samples = node()
    with pytest.raises(DataError, match="has no energy counters of acpi: choose a source that was collected"):
        verdict(RunSpec(energy_sources=["acpi"]), written(tmp_path, samples))


def test_each_step_of_the_clock_is_told_once_for_all_metrics(tmp_path: Path) -> None:
    times = np.where(np.arange(100) < 50, GRID, GRID + 6.5)
    samples = {metric: [replace(one, times=times)] for metric, (one,) in node().items()}
    found = verdict(RunSpec(), written(tmp_path, samples))
    assert [step.seconds for step in found.health["node-0"].clock_steps] == pytest.approx([6.5])
    assert "the clock was set once (+6.5 s at 2026-11-14 00:12:36)" in texts(found)


def test_a_source_that_was_asked_for_and_is_missing_is_told(tmp_path: Path) -> None:
    found = verdict(RunSpec(energy_sources=["rapl-sysfs", "acpi"]), written(tmp_path, node()))
    assert texts(found) == "lost data: node-0: no energy counters of acpi: nothing is learnt of them"
    assert found.health["node-0"].missing_meters == [f"rapl-sysfs/{part}" for part in ("core", "uncore", "dram")]
    assert verdict(RunSpec(energy_sources=list(catalog().energy_sources)), tmp_path).warnings == []


def test_the_command_writes_the_verdict_also_of_samples_that_cannot_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = node("node-1")
    broken[PACKAGE] = [replace(broken[PACKAGE][0], values=np.full(100, 5.0))]
    written(tmp_path / "kepler_query", together(node(), broken))
    phase = {"load": "cpu", "start": "2026-11-14T00:00:00Z", "end": "2026-11-14T00:00:40Z"}
    (tmp_path / "schedule.json").write_text(json.dumps({"phases": [phase]}))
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    options = ["--nodes", "node-1", "--schedule", "schedule.json", "-o", "bad"]
    monkeypatch.setattr("sys.argv", ["kepler-train", "validate", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 3
    assert said.err == (
        "error: The energy counters of node node-1 never move: the meter of this machine is not working.\n"
    )
    assert "warning: node-1: 1 of 1 phases hold fewer than 3 scrape intervals: cpu (2)." in said.out.splitlines()
    found = Verdict.read(tmp_path / "bad.json")
    assert (found.nodes, found.health["node-1"].phases[0].intervals) == (["node-1"], 2)


WEIRD = st.lists(st.floats(width=64) | st.sampled_from([0.0, -1.0, 1e308, -1e308, 5.0]), min_size=1, max_size=30)


@settings(max_examples=40)
@given(st.lists(st.tuples(WEIRD, st.sampled_from([0.001, 1.0, 15.0, 86400.0])), min_size=1, max_size=4))
def test_any_samples_get_a_verdict(many: list[tuple[list[float], float]]) -> None:
    meters = [series(values, every, job=str(n), instance="a") for n, (values, every) in enumerate(many)]
    features = [series(values, every, container_id=str(n), instance="a") for n, (values, every) in enumerate(many)]
    with TemporaryDirectory() as folder:
        samples = written(Path(folder), {PACKAGE: meters, CPU_TIME: features, CACHE_HITS: features})
        found = verdict(RunSpec(), samples)
        found.write(Path(folder, VERDICT))
        Verdict.read(Path(folder, VERDICT)).write(Path(folder, "again.json"))
        assert Path(folder, "again.json").read_bytes() == Path(folder, VERDICT).read_bytes()
    for node_name, health in found.health.items():
        assert list(node_lines(node_name, health))


# ---- a simulated node with known faults


@pytest.fixture(scope="module")
def simulated(two_nodes: list[NodeRun], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def make(*faults: str, dialect: str = "legacy", runs: int = 1) -> Path:
        shown = exported(two_nodes[:runs], dialect, ["rapl-sysfs"], frozenset(faults), seed=3)
        metrics: dict[str, list[Series]] = {}
        for one in store_of(shown).series:
            labels = {name: value for name, value in one.labels.items() if name != "__name__"}
            metrics.setdefault(one.labels["__name__"], []).append(at(one.times / 1000, one.values, **labels))
        return written(tmp_path_factory.mktemp("simulated"), metrics)

    return make


SPEC = RunSpec.model_validate({"start": START, "end": END, "feature_groups": "BPFOnly,Basic"})


def health_of(samples: Path, spec: RunSpec = SPEC, node: str = "node-0") -> NodeHealth:
    return verdict(spec, samples).health[node]


def test_a_simulated_node_without_faults_is_sound(simulated: Callable[..., Path], two_nodes: list[NodeRun]) -> None:
    found = health_of(simulated(runs=2))
    assert (found.gaps.count, found.resets, found.clock_steps, found.complete) == (0, [], [], 1920)
    for component in ("package", "core", "dram"):
        power = found.meters[f"rapl-sysfs/{component}"].power
        assert power.mean == pytest.approx(two_nodes[0].metered_watts(component).mean(), rel=0.001)
        assert (power.seconds, power.windows) == (60, 480)
    assert found.above_whole == []


def test_the_gaps_of_a_simulated_node_are_found(simulated: Callable[..., Path]) -> None:
    found = health_of(simulated("gap"))
    assert found.gaps.count == 3
    assert found.gaps.longest == 435  # 420 s without a scrape
    assert found.gaps.missing_share == pytest.approx(3 * 28 / 1921)
    assert found.clock_steps == []


def test_resets_and_restarts_of_a_simulated_node_are_found(simulated: Callable[..., Path]) -> None:
    found = health_of(simulated("reset", "restart"))
    assert len(found.resets) == 4  # two of each
    assert found.gaps.count == 2  # a restart takes two scrapes
    assert found.clock_steps == []


def test_late_scrapes_of_a_simulated_node_are_neither_gaps_nor_clock_steps(simulated: Callable[..., Path]) -> None:
    found = health_of(simulated("late"))
    assert (found.gaps.count, found.clock_steps, found.scrape_interval) == (0, [], 15)


def test_a_clock_that_was_fast_for_a_while_is_set_twice(simulated: Callable[..., Path]) -> None:
    found = health_of(simulated("clock-step"))
    assert [step.seconds for step in found.clock_steps] == pytest.approx([300, -300], rel=0.2)
    assert [(step.time - START) / (END - START) for step in found.clock_steps] == pytest.approx([0.36, 0.66], abs=0.005)


@pytest.mark.parametrize("dialect", ["legacy", "current"])
def test_a_second_job_does_not_double_the_power(
    dialect: str, simulated: Callable[..., Path], two_nodes: list[NodeRun]
) -> None:
    spec = SPEC.model_copy(update={"feature_groups": ["BPFOnly" if dialect == "legacy" else "CPUTime"]})
    found = verdict(spec, simulated("duplicate", dialect=dialect))
    power = found.health["node-0"].meters["rapl-sysfs/package"].power
    assert power.mean == pytest.approx(two_nodes[0].metered_watts("package").mean(), rel=0.001)
    assert found.warnings[0].text.endswith("are scraped twice: one of each counts")
    assert found.warnings[0].importance == "wrong power"
    assert found.health["node-0"].clock_steps == []


def test_a_meter_that_stays_at_zero_is_told(simulated: Callable[..., Path]) -> None:
    found = verdict(SPEC, simulated("zero-power"))
    assert not found.health["node-0"].meters["rapl-sysfs/uncore"].moved
    assert "remark: node-0: rapl-sysfs/uncore never moves" in texts(found)
    check_verdict(SPEC, found, to_train=True)


def test_the_phases_of_a_simulated_node_hold_enough(simulated: Callable[..., Path], two_nodes: list[NodeRun]) -> None:
    run = two_nodes[0]
    records = list(phase_records(run.name, run.edges, run.phases))
    brief = records[3] | {"name": "brief", "end": records[3]["start"].replace(":00Z", ":40Z")}
    schedule = Schedule.model_validate({"phases": [*records, brief]})
    found = verdict(SPEC, simulated(), schedule)
    few = [phase for phase in found.health["node-0"].phases if not phase.enough]
    assert [(phase.name, phase.intervals) for phase in few] == [("brief", 2)]
    assert f"1 of {len(records) + 1} phases hold fewer than 3 scrape intervals: brief (2)" in texts(found)


# ---- real machines


def test_a_real_kepler_0_11_is_judged_as_its_truth_says(
    kepler_recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw.json").write_bytes(gzip.decompress((kepler_recording / "raw.json.gz").read_bytes()))
    (tmp_path / "samples").mkdir()
    import_json(tmp_path / "raw.json", tmp_path / "samples")
    spec = RunSpec(feature_groups=["CPUTime", "NodeExporter", "BPFOnly"], output_types=["AbsPower"])
    found = judge_samples(tmp_path / "samples", spec, Schedule())
    health = found.health["vm-1"]
    assert (health.scrapes, health.scrape_interval) == (274, 5)
    assert health.gaps == Gaps(count=1, longest=10, missing_share=pytest.approx(1 / 275))
    assert (health.resets, health.clock_steps, health.above_whole) == ([], [], [])
    package = health.meters["rapl-sysfs/package"]
    assert package.refresh == Refresh(interval=5, at_most=True, standstill=pytest.approx(5, abs=0.1))
    # The law of its meter is 20 + 60 · u^0.8 for a busy share u from 0 to 1.
    assert 20 < package.power.least < package.power.mean < package.power.most < 80
    assert {name: state.valid for name, state in found.groups.items()} == {
        "CPUTime": True,
        "NodeExporter": True,
        "BPFOnly": False,
    }
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 130
    assert "  valid      CPUTime, NodeExporter" in lines
    assert "  not valid  BPFOnly: Kepler 0.10 and later does not export it" in lines


def test_a_real_legacy_recording_shows_meters_that_disagree(shared_data: Path, tmp_path: Path) -> None:
    import_json(shared_data / "idle_broadwell_gpu.json", tmp_path)
    found = verdict(RunSpec(energy_sources=["rapl-sysfs", "acpi"], feature_groups=["Basic"]), tmp_path)
    health = found.health["kind-fms-control-plane"]
    assert health.meters["rapl-sysfs/package"].counters == 4  # two sockets, idle and dynamic
    assert health.meters["rapl-sysfs/package"].sockets == 2
    assert health.meters["rapl-sysfs/package"].refresh.at_most
    assert "package + dram is above platform in 83% of the time" in texts(found)  # five of six intervals
    assert "rapl-sysfs/core, rapl-sysfs/uncore never move" in texts(found)
    assert found.groups["Basic"].valid
    found.write(tmp_path / "verdict.json")
    assert json.loads((tmp_path / "verdict.json").read_text())["health"]["kind-fms-control-plane"]["above_whole"] == [
        ["platform", "package + dram", pytest.approx(5 / 6)]
    ]

"""Nodes without a meter: their windows and rates are those that they would have with one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cells import Cell, pairwise_cells, recorded
from handmade import T0, at, written

from kepler_train.catalog import catalog
from kepler_train.errors import DataError
from kepler_train.estimate.estimable import estimable_nodes
from kepler_train.extract.node_extraction import NodeExtraction
from kepler_train.samples.parquet import Series
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

GRID = T0 + 15.0 * np.arange(41)  # ten minutes
RISE = GRID - T0
BPF = ("kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total")


def found(folder: Path, group: str, *needs: str, **asked: object) -> dict[str, NodeExtraction | DataError]:
    spec = RunSpec.model_validate({"feature_groups": [group], "output_types": ["AbsPower"], **asked})
    return dict(estimable_nodes(folder, spec, needs or catalog().features_of(group), Schedule()))


def rows(one: NodeExtraction | DataError) -> pd.DataFrame:
    assert isinstance(one, NodeExtraction), one
    table: pd.DataFrame = one.node().to_pandas()
    return table


def work(*labels: dict[str, str], times: np.ndarray = GRID, rate: float = 300.0) -> dict[str, list[Series]]:
    """Counters of BPFOnly that rise evenly from 1000 on (1/s)."""
    counted = 1000 + rate * (times - T0)
    return {metric: [at(times, counted, **own) for own in labels] for metric in BPF}


CELLS = pairwise_cells()


@pytest.mark.parametrize("cell", CELLS[::3], ids=[cell.name for cell in CELLS[::3]])
def test_windows_and_rates_are_those_of_the_same_node_with_its_meter(cell: Cell, tmp_path: Path) -> None:
    recording = recorded(cell, tmp_path)
    for file in (*tmp_path.glob("kepler_node_*joules_total.parquet"), *tmp_path.glob("kepler_platform*")):
        file.unlink()
    group = "Basic" if cell.dialect == "legacy" else "CPUTime"
    bare = found(tmp_path, group)
    assert list(bare) == list(recording.node)
    for node, metered in recording.node.items():
        own = rows(bare[node])
        assert not [name for name in own.columns if name.endswith("_power")]
        pd.testing.assert_frame_equal(own, metered[own.columns], check_exact=True)
        windows = bare[node].windows
        np.testing.assert_array_equal(windows.starts, recording.extracted[node].windows.starts)


def test_the_window_of_a_restart_is_left_out_and_a_counter_that_falls_alone_is_not_one(tmp_path: Path) -> None:
    shown = 1000 + 300 * RISE
    restarted = np.where(np.arange(41) < 20, shown, 300 * (GRID - GRID[20]) + 10)
    reused = np.where(np.arange(41) < 30, shown, 300 * (GRID - GRID[30]) + 10)  # the number of a process that ended
    many = [at(GRID, restarted, instance="vm", container_id=name) for name in "abc"]
    alone = [at(GRID, own, instance="vm", container_id=name) for name, own in (("d", reused), ("e", shown))]
    samples = written(tmp_path, {metric: [*many, *alone] for metric in BPF})
    own = rows(found(samples, "BPFOnly")["vm"])
    ends = {round(end.timestamp() - T0) for end in own["time"]}
    assert set(range(15, 601, 15)) - ends == {20 * 15}
    assert own["bpf_cpu_time_ms"].iloc[0] == pytest.approx(5 * 300.0)


def test_the_window_in_which_the_clock_was_set_is_left_out(tmp_path: Path) -> None:
    times = np.where(np.arange(41) < 20, GRID, GRID - 6)  # by 6 s, back
    samples = written(tmp_path, {metric: [at(times, 300 * RISE, instance="vm", container_id="a")] for metric in BPF})
    own = rows(found(samples, "BPFOnly")["vm"])
    assert len(own) == 39
    assert own["bpf_cpu_time_ms"].tolist() == pytest.approx([300.0] * 39)


def test_a_second_job_that_scrapes_the_same_adds_no_scrapes(tmp_path: Path) -> None:
    made = work(
        {"instance": "vm", "job": "a", "container_id": "x"}, {"instance": "vm", "job": "a", "container_id": "y"}
    )
    again = work({"instance": "vm", "job": "b", "container_id": "x"}, times=GRID[5:36] + 4)
    samples = written(tmp_path, {metric: made[metric] + again[metric] for metric in BPF})
    own = rows(found(samples, "BPFOnly")["vm"])
    assert len(own) == 40
    assert own["bpf_cpu_time_ms"].tolist() == pytest.approx([600.0] * 40)


def test_machines_with_a_meter_and_without_stand_beside_each_other(tmp_path: Path) -> None:
    made = work({"instance": "host", "container_id": "a"}, {"instance": "vm", "container_id": "b"})
    energy = at(GRID, 50 * RISE, instance="host", source="rapl-sysfs", mode="idle", package="0")
    samples = written(tmp_path, made | {"kepler_node_package_joules_total": [energy]})
    both = found(samples, "BPFOnly")
    assert list(both) == ["host", "vm"]
    assert rows(both["host"])["rapl-sysfs/package_power"].tolist() == pytest.approx([50.0] * 40)
    assert list(rows(both["vm"]).columns) == ["time", "node", "workload", "bpf_cpu_time_ms", "bpf_page_cache_hit"]


def test_a_meter_that_stands_still_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    still = at(GRID, 0 * RISE, instance="vm", source="rapl-sysfs", mode="idle", package="0")
    made = work({"instance": "vm", "container_id": "a"})
    samples = written(tmp_path, made | {"kepler_node_package_joules_total": [still]})
    assert "rapl-sysfs/package_power" not in rows(found(samples, "BPFOnly")["vm"]).columns
    assert "The meter of node vm shows nothing: it is taken to have none." in capsys.readouterr().out


def test_what_another_model_says_of_a_machine_is_no_meter(tmp_path: Path) -> None:
    said = at(GRID, 50 * RISE, instance="vm", source="trained_power_model", mode="idle", package="0")
    made = work({"instance": "vm", "container_id": "a"})
    samples = written(tmp_path, made | {"kepler_node_package_joules_total": [said]})
    assert not [name for name in rows(found(samples, "BPFOnly")["vm"]).columns if name.endswith("_power")]


def test_a_model_of_some_features_needs_no_others(tmp_path: Path) -> None:
    made = work({"instance": "vm", "container_id": "a"})
    samples = written(tmp_path, {BPF[0]: made[BPF[0]]})
    assert rows(found(samples, "Basic", "bpf_cpu_time_ms")["vm"])["bpf_cpu_time_ms"].mean() == pytest.approx(300.0)


def node_exporter(place: str, every: float = 15.0) -> dict[str, list[Series]]:
    """Of two CPUs, each of which is busy for 0.3 s a second, and 100 context switches a second."""
    times = np.arange(T0 + 7, T0 + 600, every)
    busy = [at(times, 0.3 * (times - T0), instance=place, cpu=cpu, mode="user") for cpu in "01"]
    switches = at(times, 100 * (times - T0), instance=place)
    return {"node_cpu_seconds_total": busy, "node_context_switches_total": [switches]}


NEEDS = ("node_cpu_user_seconds", "node_context_switches")


def test_a_machine_without_kepler_serves_a_model_that_needs_nothing_of_it(tmp_path: Path) -> None:
    samples = written(tmp_path, node_exporter("vm:9100"))
    own = rows(found(samples, "NodeExporter", *NEEDS)["vm:9100"])
    assert len(own) == 39
    assert own["node_cpu_user_seconds"].tolist() == pytest.approx([0.6] * 39)
    assert own["node_context_switches"].tolist() == pytest.approx([100.0] * 39)


def test_other_exporters_on_a_node_of_keplers_are_that_node_and_elsewhere_nodes_of_their_own(tmp_path: Path) -> None:
    made = work({"instance": "10.0.0.1:9102", "container_id": "a"})
    for place in ("10.0.0.1:9100", "10.0.0.2:9100"):
        for metric, many in node_exporter(place).items():
            made.setdefault(metric, []).extend(many)
    samples = written(tmp_path, made)
    assert list(found(samples, "NodeExporter", *NEEDS)) == ["10.0.0.1:9102", "10.0.0.2:9100"]
    assert list(found(samples, "BPFOnly")) == ["10.0.0.1:9102"]


def test_what_a_node_lacks_is_said_by_the_metric_that_would_hold_it(tmp_path: Path) -> None:
    made = work({"instance": "vm", "container_id": "a"})
    made[BPF[1]] = work({"instance": "other", "container_id": "a"})[BPF[1]]
    both = found(written(tmp_path, made), "BPFOnly")
    assert str(both["vm"]) == (
        "Node vm has no kepler_container_bpf_page_cache_hit_total, which the model needs: collect feature group"
        " BPFOnly, or take a model of another one."
    )
    assert "Node other has no kepler_container_bpf_cpu_time_ms_total," in str(both["other"])


def test_a_query_without_any_feature_of_the_model_is_refused(tmp_path: Path) -> None:
    samples = written(tmp_path, node_exporter("vm:9100"))
    with pytest.raises(DataError, match="The query has no kepler_container_bpf_cpu_time_ms_total, kepler_container"):
        found(samples, "BPFOnly")
    with pytest.raises(DataError, match="has no kepler_container_cpu_seconds_total or kepler_process_cpu_seconds_tot"):
        found(samples, "CPUTime")


def test_features_that_todays_kepler_has_not_are_said_to_be_unknown_to_it(tmp_path: Path) -> None:
    made = {"kepler_node_cpu_usage_ratio": [at(GRID, 0 * RISE + 0.4, instance="vm", node_name="vm")]}
    with pytest.raises(DataError, match=r"needs and Kepler 0\.10 and later does not export: take a model of another"):
        found(written(tmp_path, made), "BPFOnly")


def test_a_node_that_is_not_there_and_one_that_was_scraped_once_say_so(tmp_path: Path) -> None:
    made = work({"instance": "vm", "container_id": "a"}, times=GRID[:1])
    both = found(written(tmp_path, made), "BPFOnly", nodes=["vm", "vm-7"])
    assert "Node vm was scraped once in the window, and a rate needs two scrapes" in str(both["vm"])
    assert str(both["vm-7"]) == "The query has no features of the node vm-7, only of vm."


def test_two_scrapes_are_a_row(tmp_path: Path) -> None:
    samples = written(tmp_path, work({"instance": "vm", "container_id": "a"}, times=GRID[:2]))
    assert rows(found(samples, "BPFOnly")["vm"])["bpf_cpu_time_ms"].tolist() == pytest.approx([300.0])

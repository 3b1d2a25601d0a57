"""Extracted power and work against the truth of the simulator, faults or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from node_frames import NodeFrames, node_frames

from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import schema, table
from kepler_train.samples.schedule import Schedule
from kepler_train.simulate.history import exported
from kepler_train.simulate.machine import RAPL_COMPONENTS
from kepler_train.simulate.node import NodeRun, Scenario, run_nodes
from kepler_train.simulate.store import store_of
from kepler_train.spec import RunSpec

START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
SPEC = RunSpec(energy_sources=["rapl-sysfs", "acpi"], feature_groups=["Basic"])
COMPONENTS = [("rapl-sysfs", name) for name in RAPL_COMPONENTS] + [("acpi", "platform")]
FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit", "cache_miss", "cpu_cycles", "cpu_instructions"]


@pytest.fixture(scope="module")
def runs() -> list[NodeRun]:
    return run_nodes(Scenario(start=START, duration=4 * 3600, nodes=2, seed=11, containers=6, phase=600, idle=300))


def extracted(runs: list[NodeRun], folder: Path, *faults: str, dialect: str = "legacy") -> dict[str, NodeFrames]:
    """The frames of a recording with faults in it."""
    sources = ["rapl-sysfs", "acpi"] if dialect == "legacy" else ["rapl-sysfs"]
    by_metric: dict[str, list[DecodedSeries]] = {}
    for one in store_of(exported(runs, dialect, sources, frozenset(faults), seed=5)).series:
        by_metric.setdefault(one.labels["__name__"], []).append(DecodedSeries(one.labels, one.times, one.values))
    for metric, answer in by_metric.items():
        labels = {name for one in answer for name in one.labels} - {"__name__"}
        pq.write_table(table(answer, schema(metric, labels)), folder / f"{metric}.parquet")
    spec = SPEC if dialect == "legacy" else SPEC.model_copy(update={"energy_sources": ["rapl-sysfs"]})
    return node_frames(folder, spec, dialect, Schedule())


def truth(run: NodeRun, component: str, rows: pd.DataFrame, tick: float = 15.0) -> np.ndarray:
    """The mean of what the meter metered (W) in the window of each row, for any window."""
    joules = np.concatenate([[0.0], np.cumsum(run.metered_watts(component) * np.diff(run.edges))])
    ends = rows["time"].dt.as_unit("ms").astype("int64").to_numpy() / 1000
    return (np.interp(ends, run.edges, joules) - np.interp(ends - tick, run.edges, joules)) / tick


def steady(run: NodeRun, rows: pd.DataFrame, tick: float = 15.0) -> np.ndarray:
    """Rows in whose window, and one scrape around it, no load began or ended."""
    ends = rows["time"].dt.as_unit("ms").astype("int64").to_numpy() / 1000
    changes = np.array([run.edges[phase.first] for phase in run.phases[1:]])
    lives = np.unique(
        [run.edges[edge] for done in run.containers for edge in (done.container.first, done.container.last)]
    )
    changes = np.union1d(changes, lives)
    nearest = np.abs(ends[:, None] - tick / 2 - changes[None, :]).min(axis=1)
    return nearest > 2.1 * tick


@pytest.mark.parametrize("faults", [(), ("reset",), ("gap",), ("restart",), ("gap", "reset", "restart")])
def test_node_power_is_what_the_meter_metered(faults: tuple[str, ...], runs: list[NodeRun], tmp_path: Path) -> None:
    frames = extracted(runs, tmp_path, *faults)
    assert sorted(frames) == ["node-0", "node-1"]
    for run in runs:
        rows = frames[run.name].node
        assert len(rows) + frames[run.name].dropped == 960
        assert len(rows) >= (960 if not faults else 860)
        assert (frames[run.name].dropped > 0) == bool(faults)
        for source, component in COMPONENTS:
            metered = truth(run, component, rows)
            error = np.abs(rows[f"{source}/{component}_power"] / metered - 1)
            assert error.max() < 0.01, (run.name, component)


def test_late_scrapes_move_energy_only_to_the_next_window(runs: list[NodeRun], tmp_path: Path) -> None:
    frames = extracted(runs, tmp_path, "late")
    for run in runs:
        rows = frames[run.name].node
        assert frames[run.name].dropped <= 2  # nothing is missing but, at most, the ends
        for source, component in COMPONENTS:
            watts, metered = rows[f"{source}/{component}_power"].to_numpy(), truth(run, component, rows)
            assert watts.sum() == pytest.approx(metered.sum(), rel=1e-3)
            # Where the load is steady only the meter's own noise is left of the mixing of neighbours.
            error = np.abs(watts - metered)[steady(run, rows)]
            assert np.median(error / metered[steady(run, rows)]) < 0.01, component


def test_energy_of_current_kepler_is_chosen_by_zone_and_added_over_sockets(runs: list[NodeRun], tmp_path: Path) -> None:
    frames = extracted(runs, tmp_path, dialect="current")
    for run in runs:
        rows = frames[run.name].node
        for component in RAPL_COMPONENTS:
            error = np.abs(rows[f"rapl-sysfs/{component}_power"] / truth(run, component, rows) - 1)
            assert error.max() < 0.01, component


@pytest.mark.parametrize("faults", [(), ("late", "gap", "restart")])
def test_containers_add_up_to_the_node(faults: tuple[str, ...], runs: list[NodeRun], tmp_path: Path) -> None:
    for own in extracted(runs, tmp_path, *faults).values():
        total = own.containers.groupby("time")[FEATURES].sum()
        np.testing.assert_allclose(
            total.reindex(own.node["time"], fill_value=0.0).to_numpy(), own.node[FEATURES].to_numpy(), rtol=1e-9
        )
        assert not own.containers.duplicated(["time", "container"]).any()
        assert (own.containers[FEATURES] >= 0).all(axis=None)


def test_the_work_of_containers_is_counted_from_birth(runs: list[NodeRun], tmp_path: Path) -> None:
    frames = extracted(runs, tmp_path)
    for run in runs:
        own = frames[run.name]
        seconds = 15.0
        for feature in FEATURES:
            for done in run.containers:
                counter = done.counters[feature]
                # A container that was there at the first scrape had worked before; one that came later began at 0.
                before = counter[0] if done.container.first == 0 else 0.0
                rows = own.containers[own.containers["container"] == done.container.key]
                assert rows[feature].sum() * seconds == pytest.approx(np.floor(counter[-1]) - before, abs=2.0)


def test_rows_of_two_nodes_are_never_mixed(runs: list[NodeRun], tmp_path: Path) -> None:
    together = extracted(runs, tmp_path)
    alone = tmp_path / "alone"
    alone.mkdir()
    only = extracted(runs[1:], alone)
    pd.testing.assert_frame_equal(together["node-1"].node, only["node-1"].node)
    assert set(together["node-0"].containers["node"]) == {"node-0"}


def test_a_counter_of_another_exporter_does_not_begin_with_the_window(runs: list[NodeRun], tmp_path: Path) -> None:
    extracted(runs[:1], tmp_path)
    times = START + 4 + 15 * np.arange(960)  # scraped four seconds after Kepler
    values = 1e9 + 30 * (times - START)  # counting since the machine came up
    answer = [DecodedSeries({"instance": "node-0"}, (1000 * times).astype(np.int64), values)]
    metric = "node_context_switches_total"
    pq.write_table(table(answer, schema(metric, ["instance"])), tmp_path / f"{metric}.parquet")
    spec = RunSpec(feature_groups=["ThirdParty"], thirdparty_metrics=[metric])
    rows = node_frames(tmp_path, spec, "legacy", Schedule())["node-0"].node
    assert rows[metric].iloc[1:-1].to_numpy() == pytest.approx(30.0)
    assert rows[metric].max() <= 30.0 + 1e-6

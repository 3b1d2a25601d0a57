"""Smooth rows: means over time that reach neither across gaps nor across changes of the load."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from handmade import T0, at, written
from hypothesis import given
from hypothesis import strategies as st
from node_frames import NodeFrames, node_frames

from kepler_train.extract.smooth import WINDOWS, Smoothing
from kepler_train.extract.windows import Clock, ScrapeWindows
from kepler_train.samples.schedule import Phase, Schedule
from kepler_train.spec import RunSpec

FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit"]
STEPS = 100


def windows(steps: list[float]) -> ScrapeWindows:
    """A window for each step of the clock (s); a step of 0 s is a gap of 500 s."""
    times = T0 + np.concatenate([[0.0], np.cumsum([step or 500.0 for step in steps])])
    kept = np.flatnonzero(steps)
    return ScrapeWindows(Clock(times), kept, kept + 1)


def smoothing(steps: list[float], phases: list[int] | None = None) -> Smoothing:
    many = windows(steps)
    return Smoothing(many, np.ones(len(many), dtype=bool), np.array(phases or [0] * len(many)))


def test_a_row_is_the_mean_of_the_thirty_windows_up_to_it() -> None:
    rates = np.arange(1.0, 61.0)
    smooth = smoothing([3.0] * 60).mean(rates)
    assert smooth[:3].tolist() == [1.0, 1.5, 2.0]  # less time is known there
    assert smooth[29] == pytest.approx(15.5)  # 1 … 30
    assert smooth[59] == pytest.approx(45.5)  # 31 … 60


def test_a_mean_is_one_over_time_not_over_rows() -> None:
    # 3 s at 10, 6 s at 40, 3 s at 10: (30 + 240 + 30) / 12
    assert smoothing([3.0, 6.0, 3.0]).mean(np.array([10.0, 40.0, 10.0]))[-1] == pytest.approx(25.0)


def test_a_gap_and_a_new_load_begin_anew() -> None:
    rates = np.array([10.0, 20.0, 90.0, 70.0, 50.0])
    assert smoothing([3.0, 3.0, 0.0, 3.0, 3.0, 3.0], [0, 0, 0, 0, 1]).mean(rates).tolist() == [10, 15, 90, 80, 50]


def test_what_is_dropped_is_in_no_mean() -> None:
    many = windows([3.0] * 4)
    complete = np.array([True, True, False, True])
    smooth = Smoothing(many, complete, np.zeros(4, dtype=int)).mean(np.array([2.0, 4.0, 1e9, 8.0]))
    assert smooth[complete].tolist() == [2.0, 3.0, 8.0]


def test_no_windows_have_no_means() -> None:
    assert len(smoothing([]).mean(np.empty(0))) == 0


@given(st.lists(st.sampled_from([0.0, 3.0, 3.0, 3.0, 4.5, 6.0]), max_size=80), st.integers(0, 2**32 - 1))
def test_means_of_parts_add_up_and_stay_between_least_and_most(steps: list[float], seed: int) -> None:
    count = np.count_nonzero(steps)
    rates = np.random.default_rng(seed).exponential(1e6, (3, count))
    smooth = smoothing(steps)
    np.testing.assert_allclose(smooth.mean(rates).sum(axis=0), smooth.mean(rates.sum(axis=0)), rtol=1e-12)
    if count:
        assert (smooth.mean(rates) <= rates.max(axis=1, keepdims=True) * (1 + 1e-12)).all()
        assert (smooth.mean(rates) >= rates.min(axis=1, keepdims=True) * (1 - 1e-12)).all()
        assert (smooth.mean(np.zeros((2, count))) == 0).all()


def frames(folder: Path, extractor: str, schedule: Schedule) -> NodeFrames:
    """Two containers of which b begins halfway, and power that follows their CPU time."""
    grid = T0 + 3.0 * np.arange(STEPS + 1)
    work = np.concatenate([[0.0], np.cumsum(np.random.default_rng(1).exponential(300, STEPS))])
    late = work[STEPS // 2 :] - work[STEPS // 2]
    place = {"instance": "n"}
    made = {"kepler_node_package_joules_total": [at(grid, work / 10, **place, package="0", mode="dynamic")]}
    for feature in FEATURES:
        made[f"kepler_container_{feature}_total"] = [
            at(grid, work, **place, container_id="a"),
            at(grid[STEPS // 2 :], late, **place, container_id="b"),
        ]
    spec = RunSpec(extractor=extractor)
    return node_frames(written(folder, made), spec, "legacy", schedule)["n"]


def phase(load: str, first: int, last: int) -> Phase:
    start, end = (datetime.fromtimestamp(T0 + 3 * step, UTC) for step in (first, last))
    return Phase(name=load, load=load, start=start, end=end)


def test_containers_of_smooth_rows_add_up_to_their_node(tmp_path: Path) -> None:
    own = frames(tmp_path, "smooth", Schedule())
    total = own.containers.groupby("time")[FEATURES].sum()
    np.testing.assert_allclose(total.to_numpy(), own.node[FEATURES].to_numpy(), rtol=1e-12)
    assert len(own.node) == STEPS


def test_smooth_rows_are_means_of_the_default_ones_within_a_phase(tmp_path: Path) -> None:
    schedule = Schedule(phases=[phase("cpu", 0, 40), phase("idle", 40, STEPS)])
    plain = frames(tmp_path / "plain", "default", schedule).node
    smooth = frames(tmp_path / "smooth", "smooth", schedule).node
    for column in (*FEATURES, "rapl-sysfs/package_power"):
        rates = plain[column].to_numpy()
        for row, begin in ((5, 0), (39, 40 - WINDOWS), (40, 40), (45, 40), (99, 100 - WINDOWS)):
            assert smooth[column][row] == pytest.approx(rates[begin : row + 1].mean())
    assert smooth["workload"].tolist() == plain["workload"].tolist()

"""Increments of counters: what is counted is counted once, for any chopping of time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.catalog import catalog
from kepler_train.extract.counters import Accumulated, increments, integrated, rates, scrape_interval

steps = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 10_000)), min_size=1, max_size=40)  # s, increment


def counter(values: list[float], every: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    return every * np.arange(len(values)), np.array(values, dtype=float)


def test_a_counter_reset_counts_the_new_value_once() -> None:
    assert rates(*counter([0, 10, 20, 3, 6])).tolist() == [10 / 3, 10 / 3, 3 / 3, 3 / 3]  # 1/s


def test_a_reset_is_not_covered_because_what_came_before_it_is_lost() -> None:
    times, values = counter([0, 10, 20, 3, 6])
    gained, covered = Accumulated.of(times, values, longest=4.5).over(times)
    assert gained.tolist() == [10, 10, 0, 3]
    assert covered.tolist() == [3, 3, 0, 3]


def test_a_gap_is_not_a_rate() -> None:
    times, values = np.array([0.0, 3, 6, 66, 69]), np.array([0.0, 6, 12, 1000, 1006])
    gained, covered = Accumulated.of(times, values, longest=4.5).over(times)
    assert gained.tolist() == [6, 6, 0, 6]
    assert covered.tolist() == [3, 3, 0, 3]


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_a_gap(strange: float) -> None:
    times, values = counter([0, 6, strange, 18, 24])
    gained, covered = Accumulated.of(times, values, longest=4.5).over(times)
    assert gained.tolist() == [6, 0, 0, 6]
    assert covered.tolist() == [3, 0, 0, 3]


def test_a_late_scrape_moves_no_energy_between_steady_windows() -> None:
    times = np.array([0.0, 3, 7, 9, 12])  # the third scrape came a second late
    gained, covered = Accumulated.of(times, 10 * times, longest=4.5).over(np.arange(0.0, 13, 3))
    np.testing.assert_allclose(gained, [30, 30, 30, 30])
    assert covered.tolist() == [3, 3, 3, 3]


def test_the_usual_time_between_samples_is_not_moved_by_a_gap() -> None:
    assert scrape_interval(np.array([0.0, 15, 30, 450, 465])) == 15


@given(steps, st.lists(st.floats(-100, 3000), max_size=20))
def test_for_any_chopping_of_time_increments_add_up_to_what_is_known(
    steps: list[tuple[int, int]], cuts: list[float]
) -> None:
    elapsed, gained = np.array(steps, dtype=float).T
    times = np.concatenate([[0.0], np.cumsum(elapsed)])
    values = np.concatenate([[7.0], 7 + np.cumsum(gained)])
    known = elapsed <= 20
    edges = np.unique([-200.0, *cuts, 4000.0])
    over, covered = Accumulated.of(times, values, longest=20).over(edges)
    assert over.sum() == pytest.approx(gained[known].sum(), rel=1e-9, abs=1e-6)
    assert covered.sum() == pytest.approx(elapsed[known].sum(), rel=1e-9, abs=1e-6)
    assert (over >= 0).all()
    assert (covered >= 0).all()
    assert (covered <= np.diff(edges) + 1e-6).all()


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=30))
def test_no_counter_ever_runs_backwards(values: list[float]) -> None:
    assert (increments(np.array(values)) >= 0).all()


def test_the_rate_of_an_integrated_gauge_is_its_mean_level() -> None:
    times, levels = np.array([0.0, 3, 6, 9]), np.array([10.0, 10, 40, 20])
    assert rates(times, integrated(times, levels)).tolist() == [10, 25, 30]


@pytest.mark.parametrize(
    ("metric", "counts"),
    [
        ("kepler_container_cpu_cycles_total", True),
        ("http_request_duration_seconds_sum", True),
        ("kepler_node_cpu_usage_ratio", False),
        ("kepler_node_cpu_scaling_frequency_hertz", False),
        ("node_memory_Active_bytes", False),
    ],
)
def test_a_metric_says_by_its_name_whether_it_counts(metric: str, counts: bool) -> None:
    assert catalog().is_counter(metric) is counts

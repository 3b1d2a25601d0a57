"""Counters gain and never lose; gauges become counters whose rate is their level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.catalog import catalog
from kepler_train.extract.counters import increments, integrated, integrated_means
from kepler_train.extract.windows import Clock


def test_a_counter_reset_counts_the_new_value_once() -> None:
    assert increments(np.array([0.0, 10, 20, 3, 6])).tolist() == [10, 10, 3, 3]


def test_the_usual_time_between_samples_is_not_moved_by_a_gap() -> None:
    assert Clock(np.array([0.0, 15, 30, 450, 465])).interval == 15


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=30))
def test_no_counter_ever_runs_backwards(values: list[float]) -> None:
    assert (increments(np.array(values)) >= 0).all()


def test_the_rate_of_an_integrated_gauge_is_its_mean_level() -> None:
    times, levels = np.array([0.0, 3, 6, 9]), np.array([10.0, 10, 40, 20])
    assert (np.diff(integrated(times, levels)) / 3).tolist() == [10, 25, 30]


def test_a_gauge_that_tells_of_the_time_before_its_reading_is_integrated_so() -> None:
    times, means = np.array([0.0, 3, 6, 9]), np.array([10.0, 10, 40, 20])
    assert (np.diff(integrated_means(times, means)) / 3).tolist() == [10, 40, 20]


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

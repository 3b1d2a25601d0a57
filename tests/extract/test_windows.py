"""Windows of whole scrapes: none across a gap, and each with a whole number of the exporter's refreshes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.extract.increments import add_gains, covered_seconds
from kepler_train.extract.windows import Clock, make_windows, steps_at_once
from kepler_train.samples.parquet import Series

EVERY = Clock(np.arange(0.0, 100, 10))


def windows(clock: Clock, at_once: int = 1, still: tuple[int, ...] = ()) -> list[tuple[float, float]]:
    moved = np.ones(len(clock.steps), dtype=bool)
    moved[list(still)] = False
    found = make_windows(clock, at_once, moved)
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def gains(series: Series, clock: Clock = EVERY, *, from_birth: bool = False) -> list[float]:
    by_step = np.zeros(len(clock.steps))
    add_gains(by_step, series, clock, from_birth=from_birth)
    return by_step.tolist()


def series(times: list[float], values: list[float]) -> Series:
    return Series({}, np.array(times, dtype=float), np.array(values, dtype=float))


def test_no_window_lies_across_a_gap_and_a_rest_is_left_out() -> None:
    clock = Clock(np.array([0.0, 10, 20, 30, 90, 100, 110]))
    assert windows(clock) == [(0, 10), (10, 20), (20, 30), (90, 100), (100, 110)]
    assert windows(clock, at_once=2) == [(0, 20), (90, 110)]


def test_a_late_scrape_makes_one_window_longer_and_the_next_shorter() -> None:
    assert windows(Clock(np.array([0.0, 10, 23, 30, 40]))) == [(0, 10), (10, 23), (23, 30), (30, 40)]


def test_a_window_without_energy_becomes_one_with_the_next_and_is_left_out_at_the_end() -> None:
    clock = Clock(np.arange(0.0, 61, 10))
    assert windows(clock, still=(1,)) == [(0, 10), (10, 30), (30, 40), (40, 50), (50, 60)]
    assert windows(clock, still=(5,)) == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]
    # A counter that stands still for long stands still.
    assert windows(clock, still=(1, 2, 3)) == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50), (50, 60)]


@pytest.mark.parametrize(
    ("scrape", "refresh", "window"),
    [
        (1, 3, 3),
        (1, 5, 5),
        (3, 5, 15),
        (5, 3, 15),
        (3, 3, 3),
        (5, 1, 5),
        (15, 3, 15),
        (15, 5, 15),
        (30, 5, 30),
        (10, 3, 30),
    ],
)
def test_a_window_has_a_whole_number_of_refreshes(scrape: float, refresh: float, window: float) -> None:
    assert steps_at_once(scrape, refresh, 0) * scrape == window


def test_what_is_asked_for_wins_and_what_is_not_known_changes_nothing() -> None:
    assert steps_at_once(5, 3, 20) == 4
    assert steps_at_once(5, 3, 1) == 1
    assert steps_at_once(5, None, 0) == 1


def test_a_reset_counts_the_new_value_and_is_not_covered() -> None:
    one = series([0, 10, 20, 30], [5, 9, 2, 3])
    assert gains(one)[:4] == [4, 2, 1, 0]
    assert covered_seconds(one, EVERY).tolist()[:4] == [10, 0, 10, 0]


def test_a_container_that_appears_has_counted_since_the_scrape_before() -> None:
    assert gains(series([20, 30], [7, 9]), from_birth=True)[:4] == [0, 7, 2, 0]
    assert gains(series([20, 30], [7, 9]))[:4] == [0, 0, 2, 0]
    after_a_gap = Clock(np.array([0.0, 10, 20, 80, 90]))
    assert gains(series([80, 90], [7, 9]), after_a_gap, from_birth=True) == [0, 0, 0, 2]


def test_another_exporters_counter_is_spread_evenly_onto_the_clock() -> None:
    one = series([3, 33, 63], [0, 300, 600])  # 10/s, scraped every 30 s
    assert gains(one) == pytest.approx([70, 100, 100, 100, 100, 100, 30, 0, 0])
    assert covered_seconds(one, EVERY) == pytest.approx([7, 10, 10, 10, 10, 10, 3, 0, 0])


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1000)), min_size=2, max_size=30),
)
def test_for_any_clock_gains_add_up_to_last_minus_first_and_what_resets_left(
    steps: list[int], samples: list[tuple[int, int]]
) -> None:
    times = np.cumsum([step for step, _ in samples], dtype=float)
    values = np.array([value for _, value in samples], dtype=float)
    clock = Clock(np.unique(np.concatenate([[0.0], np.cumsum(steps, dtype=float), [times[-1] + 1]])))
    expected = sum(b - a if b >= a else b for a, b in pairwise(values.tolist()))
    found = gains(Series({}, times, values), clock)
    assert sum(found) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert min(found) >= 0


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=60), st.integers(1, 5))
def test_windows_of_any_length_hold_what_their_steps_hold(values: list[int], at_once: int) -> None:
    clock = Clock(np.arange(0.0, 10 * (len(values) + 1), 10))
    by_step = np.array([values, values[::-1]], dtype=float)
    found = make_windows(clock, at_once, np.ones(len(values), dtype=bool)).sum_steps(by_step)
    whole = len(values) // at_once * at_once
    assert found.tolist() == by_step[:, :whole].reshape(2, -1, at_once).sum(axis=2).tolist()

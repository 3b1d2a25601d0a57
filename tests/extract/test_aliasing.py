"""A refresh shorter than the scrape interval is found from the pattern that it leaves in the energy of steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.extract.aliasing import hidden_refresh


def energy(scrape: int, refresh: int, steps: int, watts: np.ndarray | float = 100.0, first: int = 1) -> np.ndarray:
    """The energy (J) of steps of `scrape` seconds when the meter is read every `refresh` seconds from `first` on."""
    readings = np.diff((np.arange(steps + 1) * scrape + first) // refresh)
    return readings * refresh * watts


def whole(steps: int) -> np.ndarray:
    return np.ones(steps, dtype=bool)


def test_five_seconds_of_three_show_three_six_and_six() -> None:
    joules = energy(5, 3, 60)
    assert joules[:6].tolist() == [600, 300, 600, 600, 300, 600]
    assert hidden_refresh([joules], whole(60), 5.0, None) == 3


@given(
    st.sampled_from([(5, 2), (5, 3), (5, 4), (10, 3), (15, 2), (15, 4), (15, 7), (30, 4), (30, 8)]),
    st.integers(0, 20),
    st.integers(0, 1000),
)
def test_a_load_that_comes_and_goes_does_not_hide_the_pattern(case: tuple[int, int], first: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    watts = 100 + 50 * np.repeat(chance.random(30) < 0.5, 20) + chance.normal(0, 1, 600)
    assert hidden_refresh([energy(*case, 600, watts, first)], whole(600), float(case[0]), None) == case[1]


@given(st.sampled_from([3, 5, 15, 30]), st.integers(0, 1000), st.integers(2, 40))
def test_no_load_is_taken_for_a_pattern(scrape: int, seed: int, length: int) -> None:
    chance = np.random.default_rng(seed)
    watts = 100 + 80 * np.repeat(chance.random(600 // length + 1), length)[:600]
    joules = scrape * (watts + chance.normal(0, 1, 600))
    assert hidden_refresh([joules], whole(600), float(scrape), None) is None


def test_a_load_as_regular_as_a_pattern_moves_some_counters_more() -> None:
    # 45 W, then twice 90 W: the pattern of a refresh of 3 s in scrapes of 5 s, but not in the energy of idling.
    load = np.tile([225.0, 450, 450], 60)
    assert hidden_refresh([load], whole(180), 5.0, None) == 3
    assert hidden_refresh([load, np.full(180, 100.0)], whole(180), 5.0, None) is None
    assert hidden_refresh([load, np.tile([75.0, 150, 150], 60)], whole(180), 5.0, None) == 3


def test_a_counter_that_stands_still_says_nothing() -> None:
    assert hidden_refresh([energy(5, 3, 60), np.zeros(60)], whole(60), 5.0, None) == 3
    assert hidden_refresh([np.zeros(60)], whole(60), 5.0, 3.0) == 3


def test_after_a_gap_the_pattern_may_lie_elsewhere() -> None:
    joules = np.concatenate([energy(5, 3, 50), [1000.0], energy(5, 3, 50, first=3)])
    gap = whole(101)
    gap[50] = False
    assert hidden_refresh([joules], gap, 5.0, None) == 3


@pytest.mark.parametrize(("steps", "found"), [(6, 3), (60, None)])
def test_the_habit_of_the_exporter_holds_until_the_data_exclude_it(steps: int, found: float | None) -> None:
    assert hidden_refresh([np.full(steps, 500.0)], whole(steps), 5.0, 3.0) == found
    assert (
        hidden_refresh([np.full(steps, 500.0)], whole(steps), 5.0, 5.0) == 5.0
    )  # a step holds one reading: no pattern


def test_intervals_that_are_no_whole_seconds_go_by_the_habit() -> None:
    assert hidden_refresh([energy(5, 3, 60)], whole(60), 7.5, 5.0) == 5.0

"""Two models on the same rows: every workload counts once, and chance is told from a difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kepler_train.evaluate.comparison import level_for
from kepler_train.evaluate.paired import MARGIN, difference_of_rows, difference_of_workloads

FIVE = ["idle", "cpu", "vm", "cache", "regs"]
WATTS = st.floats(0, 1000, allow_subnormal=False)
ROWS = st.integers(10, 60).flatmap(
    lambda rows: st.tuples(
        arrays(float, rows, elements=WATTS), st.lists(st.sampled_from(FIVE), min_size=rows, max_size=rows)
    )
)


def test_every_workload_counts_once_however_many_rows_it_has():
    # 8 idle rows at 1 W against 1 W, and one row of each of four loads at 2 W against 4 W.
    workloads = ["idle"] * 8 + FIVE[1:]
    now, new = np.array([1.0] * 8 + [2.0] * 4), np.array([1.0] * 8 + [4.0] * 4)
    found = difference_of_rows(now, new, workloads, 0.9)
    assert (found.champion, found.challenger) == pytest.approx(((1 + 4 * 2) / 5, (1 + 4 * 4) / 5))
    assert (found.units, found.unit, found.rows) == (5, "workload", 12)
    # d is 0 once and 2 four times: among 5 drawn, 0 comes up three times or more with 5.8 % chance.
    assert (found.low, found.high) == pytest.approx((0.8, 2.0))
    assert found.worse


def test_a_difference_that_turns_with_the_load_is_noise():
    now = {"idle": 2.0, "cpu": 5.0, "vm": 4.0, "cache": 3.0, "regs": 6.0}
    new = {"idle": 1.0, "cpu": 7.0, "vm": 3.0, "cache": 4.0, "regs": 6.0}  # d: -1, 2, -1, 1, 0; mean 0.2
    found = difference_of_workloads(now, new, 0.9, rows=50)
    assert found.challenger - found.champion == pytest.approx(0.2)
    assert found.low < 0 < found.high
    assert not found.worse


def test_a_certain_difference_below_the_margin_matters_to_nobody():
    now = dict.fromkeys(FIVE, 10.0)
    assert not difference_of_workloads(now, dict.fromkeys(FIVE, 10.0 + 10.0 * MARGIN), 0.9, rows=50).worse
    assert difference_of_workloads(now, dict.fromkeys(FIVE, 10.3), 0.9, rows=50).worse  # 3 %


def test_with_few_workloads_ten_blocks_of_time_are_drawn():
    now, new = np.full(40, 1.0), np.where(np.arange(40) < 20, 1.0, 2.0)
    found = difference_of_rows(now, new, ["idle"] * 20 + ["cpu"] * 20, 0.9)
    assert (found.units, found.unit) == (10, "block of time")
    assert found.challenger - found.champion == pytest.approx(0.5)
    # Of ten draws, 2 or fewer are of the five worse blocks with 5.5 % chance: the interval begins at 0.2 or 0.3 W.
    assert found.low in (pytest.approx(0.2), pytest.approx(0.3))


def test_the_more_is_compared_the_surer_each_difference_must_be():
    assert level_for(1) == pytest.approx(0.90)  # 5 % above, 5 % below
    assert level_for(8) == pytest.approx(0.9875)


@settings(max_examples=40)
@given(ROWS)
def test_an_equal_challenger_is_never_worse(rows: tuple[np.ndarray, list[str]]):
    errors, workloads = rows
    assert not difference_of_rows(errors, errors.copy(), workloads, level_for(4)).worse


@settings(max_examples=40)
@given(ROWS, st.floats(0.01, 100))
def test_a_challenger_that_is_worse_in_every_row_always_is(rows: tuple[np.ndarray, list[str]], more: float):
    errors, workloads = rows
    worse = errors * (1 + 2 * MARGIN) + more
    assert difference_of_rows(errors, worse, workloads, level_for(4)).worse
    assert not difference_of_rows(worse, errors, workloads, level_for(4)).worse

"""Prediction intervals: what they are made of, and how often they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_rows import COUNTERS, simulated_rows

from kepler_train.errors import UserError
from kepler_train.evaluate.figures import all_figures
from kepler_train.evaluate.intervals import Residuals, calibrated, cross_coverage, intervals
from kepler_train.evaluate.judged import HeldOut
from kepler_train.models.interval import apply_interval
from kepler_train.models.metadata import Interval
from kepler_train.records import validated
from kepler_train.train.held_out import held_out
from kepler_train.train.trainer import trainer
from kepler_train.train.training_set import TrainingSet, training_sets

BEST = "PolynomialRegressionTrainer"


def residuals(measured: Any, predicted: Any, workload: Any) -> Residuals:
    return Residuals(np.asarray(measured, float), np.asarray(predicted, float), np.asarray(workload, np.intp))


def sets(rows: pd.DataFrame) -> dict[str, TrainingSet]:
    columns = {"package": "package", "dram": "dram"}
    return training_sets(rows, COUNTERS, columns, "CounterOnly", intercept=True, seed=0)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return simulated_rows(hours=6, seed=1)


@pytest.fixture(scope="module")
def judged(rows: pd.DataFrame) -> HeldOut:
    return held_out(trainer(BEST), rows, sets(rows), 5)


def test_an_interval_is_a_constant_and_a_share_of_power_around_the_prediction_and_never_below_nothing() -> None:
    low, high = apply_interval(Interval(level=0.9, constant=2.0, share=0.1), np.array([0.0, 10.0, 100.0]))
    assert low.tolist() == [0.0, 7.0, 88.0]
    assert high.tolist() == [2.0, 13.0, 112.0]


@pytest.mark.parametrize("broken", [{}, {"constant": 1.0}, {"constant": "wide", "share": 0.1}])
def test_an_interval_that_is_cut_short_is_refused_in_one_sentence(broken: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"cannot be read: (level|constant|share) is missing or wrong"):
        validated(Interval, broken, "The interval of a model")


def test_of_ten_equal_rows_per_workload_all_but_the_largest_are_inside() -> None:
    """Errors of 1 … 10 W in each of 19 workloads: ⌈191 · 0.9⌉ = 172 rows must be inside, and 171 are within 9 W."""
    off = np.tile(np.arange(1.0, 11.0), 19)
    found = calibrated(residuals(100 + off, np.full(190, 100.0), np.repeat(np.arange(19), 10)), 0.9)
    assert found.constant + 100 * found.share == pytest.approx(10.0)
    at_half = calibrated(residuals(100 + off, np.full(190, 100.0), np.repeat(np.arange(19), 10)), 0.5)
    assert at_half.constant + 100 * at_half.share == pytest.approx(6.0)  # ⌈191 · 0.5⌉ = 96 rows, and 95 are within 5 W


def test_errors_that_grow_with_power_give_an_interval_that_does() -> None:
    power = np.tile(np.linspace(10, 200, 50), 4)
    sign = np.tile([1.0, -1.0], 100)
    found = calibrated(residuals(power * (1 + 0.05 * sign), power, np.repeat(np.arange(4), 50)), 0.9)
    assert found.share == pytest.approx(0.05, rel=1e-3)
    assert found.constant == pytest.approx(0.0, abs=0.01)


def test_a_long_workload_weighs_as_much_as_a_short_one() -> None:
    """990 rows off by 1 W, 10 rows off by 9 W: by rows the level would be met without the second workload."""
    off, workload = np.repeat([1.0, 9.0], [990, 10]), np.repeat([0, 1], [990, 10])
    found = calibrated(residuals(50 + off, np.full(1000, 50.0), workload), 0.9)
    assert found.constant + 50 * found.share == pytest.approx(9.0)


@given(st.integers(0, 1000), st.floats(0.05, 0.95))
@settings(max_examples=40)
def test_the_rows_it_is_made_of_are_inside_at_least_as_often_as_its_level(seed: int, level: float) -> None:
    chance = np.random.default_rng(seed)
    predicted = chance.uniform(5, 300, 200)
    rows = residuals(predicted * chance.lognormal(0, 0.2, 200), predicted, chance.integers(0, 5, 200))
    low, high = apply_interval(calibrated(rows, level), rows.predicted)
    inside = (low <= rows.measured) & (rows.measured <= high)
    by_workload = [inside[rows.workload == number].mean() for number in np.unique(rows.workload)]
    assert np.mean(by_workload) >= level - 1e-9


def test_a_model_that_is_never_wrong_has_an_interval_of_no_width_and_one_workload_no_coverage() -> None:
    exact = residuals([10.0, 20.0, 30.0], [10.0, 20.0, 30.0], [0, 0, 0])
    assert calibrated(exact, 0.9) == Interval(level=0.9, constant=0.0, share=0.0)
    assert cross_coverage(exact, 0.9) is None


def test_without_loads_that_were_left_out_blocks_of_time_are_what_there_is(judged: HeldOut) -> None:
    every = judged.frame()
    blocked = HeldOut.of(every[every["protocol"] == "blocked"])
    assert intervals(blocked, 0.9)["package"].rows == len(blocked) / 2  # two components
    of_loads = intervals(judged, 0.9)["package"]
    idle = int(blocked.workload.equal("idle").sum() / 2)
    unseen = int((every["protocol"] == "leave-one-workload-out").sum() / 2)
    assert (of_loads.rows, of_loads.workloads) == (idle + unseen, 8)


def test_on_the_simulator_the_error_under_unseen_load_is_below_three_percent(judged: HeldOut) -> None:
    figures = all_figures(judged, 1.0)["leave-one-workload-out"]
    print({name: round(own.mape, 2) for name, own in figures.items()})
    assert figures["package"].mape < 3.0
    assert figures["dram"].mape < 3.0


def test_on_the_simulator_the_interval_holds_as_much_of_another_time_as_its_level_says(
    rows: pd.DataFrame, judged: HeldOut
) -> None:
    """Neither model nor interval has seen these rows: the node runs other phases, in another order."""
    fresh = simulated_rows(hours=6, seed=99)
    shares = {}
    for component, data in sets(rows).items():
        predicted = trainer(BEST).fit(data).predict(fresh[COUNTERS].to_numpy())
        low, high = apply_interval(intervals(judged, 0.9)[component], predicted)
        shares[component] = float(fresh[component].between(low, high).mean())
    print(shares)
    for share in shares.values():
        assert share == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_on_the_simulator_the_interval_holds_as_much_of_loads_it_was_not_made_of_as_its_level_says(
    judged: HeldOut, level: float
) -> None:
    found = intervals(judged, level)
    print(level, {component: round(own.coverage, 3) for component, own in found.items()})
    for own in found.values():
        assert own.coverage == pytest.approx(level, abs=0.03)

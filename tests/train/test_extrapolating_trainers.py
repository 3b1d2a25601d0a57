"""Trainers whose models hold beyond the data: never falling with load, never below 0 W, not flat where power rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fitting import training_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from kepler_train.catalog import catalog
from kepler_train.models.ramps import Ramp, RampModel
from kepler_train.train.methods.non_negative import EXTRAPOLATION, least_absolute_weights
from kepler_train.train.trainer import Trainer, trainer
from kepler_train.train.trainers.piecewise_linear import CLOCK_FEATURE

MONOTONE = ["MonotoneBoostingTrainer", "NonNegativePolynomialTrainer", "PiecewiseLinearTrainer"]
STRONGER = [*MONOTONE, "ExtraTreesTrainer", "TrendForestTrainer", "ResidualForestTrainer", "LaggedForestTrainer"]


def law(X: np.ndarray) -> np.ndarray:
    """Power (W) of a machine: 40 at idle, 60 for the first tenth of load, 8 for every further one, 20 for misses."""
    load, misses = X[:, 0] / 1e10, X[:, 1] / 1e6
    return 40 + 60 * np.minimum(load, 0.1) / 0.1 + 80 * np.maximum(load - 0.1, 0) + 20 * misses


def rows(count: int, seed: int, most: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, [most * 1e10, 1e6], (count, 2))


@pytest.mark.parametrize("name", STRONGER)
def test_a_bent_law_is_learnt_within_three_watts(name: str) -> None:
    X = rows(1500, 0)
    model = trainer(name).fit(training_rows(X, law(X)))
    fresh = rows(500, 1)
    assert np.abs(model.predict(fresh) - law(fresh)).mean() < 3  # of 40 to 192 W


@pytest.mark.parametrize("name", ["PiecewiseLinearTrainer", "TrendForestTrainer", "ResidualForestTrainer"])
def test_load_beyond_the_data_goes_on_as_it_rose(name: str) -> None:
    X = rows(1500, 0, most=0.7)
    own: Trainer = trainer(name)
    model, flat = own.fit(training_rows(X, law(X))), trainer("XgboostFitTrainer").fit(training_rows(X, law(X)))
    beyond = np.column_stack([np.linspace(0.75e10, 1e10, 20), np.full(20, 5e5)])
    assert np.abs(model.predict(beyond) - law(beyond)).mean() < 5
    assert np.abs(flat.predict(beyond) - law(beyond)).mean() > 10  # trees alone say what they saw last


def test_a_trend_is_not_followed_without_end() -> None:
    X = rows(500, 0)
    model = trainer("PiecewiseLinearTrainer").fit(training_rows(X, law(X)))
    near, far = (model.predict(np.array([[times * X[:, 0].max(), 0.0]]))[0] for times in (EXTRAPOLATION, 100.0))
    assert near == pytest.approx(far)


def test_power_that_has_levelled_off_does_not_rise_again_beyond_the_data() -> None:
    X = rows(1000, 0)
    y = 40 + 50 * np.minimum(X[:, 0] / 1e10, 0.5)  # flat from half of the load on
    model = trainer("TrendForestTrainer").fit(training_rows(X, y))
    assert model.predict(np.array([[1.4e10, 5e5]]))[0] == pytest.approx(65, abs=1)


@pytest.mark.parametrize("name", MONOTONE)
def test_more_work_never_costs_fewer_watts(name: str) -> None:
    chance = np.random.default_rng(3)
    X = rows(600, 2)
    model = trainer(name).fit(training_rows(X, law(X) + chance.normal(0, 15, 600)))  # noise that invites to fall
    start = rows(200, 4)
    for column in (0, 1):
        more = start.copy()
        more[:, column] *= chance.uniform(1, 3, 200)
        assert (model.predict(more) >= model.predict(start) - 1e-4).all()  # float32 of trees


@pytest.mark.parametrize("name", STRONGER)
@given(seed=st.integers(0, 10_000), intercept=st.booleans())
@settings(max_examples=5, deadline=None)
def test_no_work_and_any_work_are_at_least_zero_watts(name: str, seed: int, intercept: bool) -> None:
    chance = np.random.default_rng(seed)
    X = chance.exponential(10.0 ** chance.integers(0, 12), (40, 3)) * chance.integers(0, 2, (40, 3))
    model = trainer(name).fit(training_rows(X, chance.normal(0, 100, 40), intercept=intercept))
    watts = model.predict(np.vstack([np.zeros(3), X, chance.exponential(1e15, (20, 3))]))
    assert np.isfinite(watts).all()
    assert (watts >= 0).all()


def test_the_same_work_costs_more_at_a_higher_clock() -> None:
    chance = np.random.default_rng(0)
    clock, busy = chance.choice([1.2e9, 2.0e9, 2.8e9], 900), chance.uniform(0, 1000, 900)
    X = np.column_stack([busy, clock])
    y = 30 + 100 * (busy / 1000) * (clock / 2.8e9) ** 2
    model = trainer("PiecewiseLinearTrainer").fit(training_rows(X, y, features=["bpf_cpu_time_ms", CLOCK_FEATURE]))
    found = model.predict(np.array([[1000, 1.2e9], [1000, 2.0e9], [1000, 2.8e9]]))
    np.testing.assert_allclose(found, [48.4, 81.0, 130.0], atol=2)


def test_trees_kept_as_a_booster_are_those_that_were_grown() -> None:
    X = rows(800, 0)
    model = trainer("ExtraTreesTrainer").fit(training_rows(X, law(X), seed=7))
    least = catalog().trainer("ExtraTreesTrainer").settings["least_gain"] * law(X).var()  # W²
    grown = ExtraTreesRegressor(90, min_impurity_decrease=least, random_state=7).fit(X, law(X))
    anything = np.vstack([X, rows(800, 1, most=1.5), np.zeros((1, 2))])
    np.testing.assert_allclose(model.predict(anything), grown.predict(anything), atol=1e-3)


def test_a_draft_has_fewer_trees_and_says_about_the_same() -> None:
    X = rows(800, 0)
    data = training_rows(X, law(X))
    draft, whole = (trainer("ExtraTreesTrainer").fit(replace(data, draft=which)) for which in (True, False))
    assert (len(draft.booster.get_dump()), len(whole.booster.get_dump())) == (10, 90)
    assert np.abs(draft.predict(X) - whole.predict(X)).mean() < 0.05 * law(X).std()


def test_a_node_is_not_split_for_a_millionth_of_the_power() -> None:
    X = rows(800, 0)
    step, ripple = np.where(X[:, 0] > 5e9, 90.0, 30.0), 0.05 * np.sin(1e4 * X[:, 1])  # W
    for tree in trainer("ExtraTreesTrainer").fit(training_rows(X, step + ripple)).booster.get_dump():
        assert tree.count("leaf") < 30  # of 800 rows that all differ


def test_trees_and_pieces_that_two_trainers_build_on_are_made_once_for_the_same_rows() -> None:
    X = rows(100, 0)
    data = training_rows(X, law(X))
    trees, trend, residual = (
        trainer(name).fit(data) for name in ("ExtraTreesTrainer", "TrendForestTrainer", "ResidualForestTrainer")
    )
    assert trend.members[0].model is trees
    assert trainer("PiecewiseLinearTrainer").fit(data) is residual.members[0].model
    other = trainer("TrendForestTrainer").fit(replace(data, seed=1))
    assert (other.members[0].model.predict(X) != trees.predict(X)).any()
    above = trainer("PiecewiseLinearTrainer").fit(replace(data, y=data.y + 9))
    np.testing.assert_allclose(above.predict(X), residual.members[0].model.predict(X) + 9, atol=0.5)


def test_a_few_wild_rows_do_not_move_non_negative_weights() -> None:
    x = np.linspace(0, 1, 200)
    y = 10 + 5 * x
    y[::20] += 500  # a twentieth of the rows
    bias, slope = least_absolute_weights(np.column_stack([np.ones(200), x]), y)
    assert (bias, slope) == (pytest.approx(10, abs=0.3), pytest.approx(5, abs=0.3))  # least squares: 35 and 5


def test_a_sum_of_terms_is_what_its_formula_says() -> None:
    ramps = [Ramp(0, 0.0, 4.0, 2.0), Ramp(1, 1.0, 3.0, 1.0, 2.0)]
    model = RampModel(7.0, ramps, [(0,), (0, 1)], np.array([10.0, 1.0]))
    # x = (4, 2): 7 + 10·(4/2) + (4/2)·(2 − 1)² = 29; x = (9, 9): both ramps end, 7 + 20 + 2·4 = 35
    assert model.predict(np.array([[4.0, 2.0], [9.0, 9.0], [0.0, 0.0]])).tolist() == [29.0, 35.0, 7.0]

"""Trainers against data whose law is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fitting import FEATURES, node_rows, training_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.evaluate.additivity import additivity_error
from kepler_train.models import Fitted, PowerModel
from kepler_train.train.trainer import house_trainers, trainer
from kepler_train.train.trainers.linear import LinearRegressionTrainer
from kepler_train.train.trainers.xgboost import XgboostFitTrainer


@pytest.mark.parametrize("bias", [0.0, 20.0])
def test_linear_finds_the_coefficients_that_made_the_data(bias: float) -> None:
    chance = np.random.default_rng(1)
    X = chance.uniform(0, [4000, 9e9, 5e6], (400, 3))
    model = LinearRegressionTrainer().fit(training_rows(X, bias + X @ [0.03, 2e-8, 0.0], intercept=bias > 0))
    assert model.bias == pytest.approx(bias, abs=1e-8)
    np.testing.assert_allclose(model.weight / model.scale, [0.03, 2e-8, 0.0], rtol=1e-9, atol=1e-15)


def test_linear_says_zero_where_more_work_seems_to_save_power() -> None:
    X = np.linspace(0, 100, 50)[:, None]
    model = LinearRegressionTrainer().fit(training_rows(X, 50 - 0.4 * X[:, 0]))
    assert model.weight.tolist() == [0.0]
    assert model.bias == pytest.approx(30.0)  # the mean


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=50)
def test_linear_never_goes_below_zero_for_any_work(seed: int, intercept: bool) -> None:
    chance = np.random.default_rng(seed)
    X = chance.exponential(10.0 ** chance.integers(0, 12), (30, 4)) * chance.integers(0, 2, (30, 4))
    y = chance.normal(0, 100, 30)  # also watts that make no sense
    model = LinearRegressionTrainer().fit(training_rows(X, y, intercept=intercept))
    anything = np.vstack([np.zeros(4), X, chance.exponential(1e15, (20, 4))])
    assert (model.predict(anything) >= 0).all()
    assert intercept or model.predict(np.zeros((1, 4))).tolist() == [0.0]


@pytest.mark.parametrize("name", sorted(house_trainers()))
@pytest.mark.parametrize("power", [0.0, 42.0])
def test_a_component_that_never_changes_is_learnt_as_it_is(name: str, power: float) -> None:
    X = np.random.default_rng(0).uniform(0, 100, (60, 2))
    model = trainer(name).fit(training_rows(X, np.full(60, power)))
    np.testing.assert_allclose(model.predict(X), power, atol=0.01)


@pytest.mark.parametrize("name", sorted(house_trainers()))
def test_features_that_never_move_are_no_obstacle(name: str) -> None:
    model = trainer(name).fit(training_rows(np.zeros((60, 2)), np.full(60, 7.0)))
    np.testing.assert_allclose(model.predict(np.zeros((3, 2))), 7.0, atol=0.01)


def test_trees_follow_a_curve_and_stay_flat_beyond_it() -> None:
    x = np.linspace(0, 16, 2000)
    model = XgboostFitTrainer().fit(training_rows(x[:, None], 20 + 60 * (x / 16) ** 0.5))
    np.testing.assert_allclose(model.predict(np.array([[4.0], [9.0]])), [50, 65], rtol=0.02)
    assert model.predict(np.array([[1e6]]))[0] == pytest.approx(80, rel=0.02)
    assert (model.predict(np.array([[-5.0], [0.0]])) >= 0).all()


def test_the_same_seed_gives_the_same_trees() -> None:
    data = node_rows(200, ["cpu"])
    X, y = data[FEATURES].to_numpy(), data["package"].to_numpy()
    first, second = (XgboostFitTrainer().fit(training_rows(X, y, intercept=True, seed=3)).predict(X) for _ in range(2))
    assert (first == second).all()


def test_linear_adds_up_and_trees_do_not(tmp_path: Path) -> None:
    data = node_rows(200, ["cpu"])
    X, y = data[FEATURES].to_numpy(), 2 * data["bpf_cpu_time_ms"].to_numpy() ** 0.5  # W, and no straight line
    halves = pd.concat([data.assign(bpf_cpu_time_ms=data["bpf_cpu_time_ms"] / 2, container=name) for name in "xy"])
    halves["bpf_page_cache_hit"] /= 2
    halves.to_parquet(tmp_path / "containers.parquet", index=False)
    errors = {}
    for name in house_trainers():
        learnt = trainer(name)
        part = learnt.fit(training_rows(X, y, intercept=False))
        model = PowerModel(name, 0, {"package": Fitted.select(FEATURES, part)})
        errors[name] = additivity_error(model, tmp_path / "containers.parquet")["package"]
        assert learnt.additive == (errors[name] < 1e-9)
    assert errors["XgboostFitTrainer"] > 1  # W


def test_a_trainer_that_is_not_there_is_said_to_be_so() -> None:
    with pytest.raises(UserError, match="did you mean 'LinearRegressionTrainer'"):
        trainer("LinearRegression")

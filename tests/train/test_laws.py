"""Each trainer finds the law that made its rows, and never says less than 0 W."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from fitting import training_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from kepler_train.models import CurveModel, Fitted, LinearModel, SubsetModel, TreesModel
from kepler_train.train.methods.subsample import subsample, subsample_note
from kepler_train.train.trainer import trainer

Floats = npt.NDArray[np.float64]
TEN = [
    "SGDRegressorTrainer",
    "LinearRegressionTrainer",
    "PolynomialRegressionTrainer",
    "KNeighborsRegressorTrainer",
    "SVRRegressorTrainer",
    "GradientBoostingRegressorTrainer",
    "XgboostFitTrainer",
    "LogarithmicRegressionTrainer",
    "LogisticRegressionTrainer",
    "ExponentialRegressionTrainer",
]
CURVES = TEN[-3:]
AT_ZERO = ["SGDRegressorTrainer", "LinearRegressionTrainer", "PolynomialRegressionTrainer", *CURVES]
SCALE = 4000.0  # largest value of the main feature


def loads(count: int = 400) -> Floats:
    """Two features; the main one, the second, runs from 0 to SCALE."""
    chance = np.random.default_rng(0)
    return np.column_stack([chance.uniform(0, 9e9, count), np.linspace(0, SCALE, count)])


def curve(name: str, y: Floats, intercept: bool = True) -> CurveModel:
    found = trainer(name).fit(training_rows(loads(len(y)), y, main=1, intercept=intercept))
    assert isinstance(found, SubsetModel)
    assert found.columns == (1,)
    assert isinstance(found.model, CurveModel)
    return found.model


def test_sgd_finds_the_coefficients_that_made_the_rows() -> None:
    X = np.random.default_rng(1).uniform(0, [4000, 9e9, 5e6], (2000, 3))
    model = trainer("SGDRegressorTrainer").fit(training_rows(X, 20 + X @ [0.03, 2e-8, 0.0]))
    assert isinstance(model, LinearModel)
    assert model.bias == pytest.approx(20, rel=0.01)
    np.testing.assert_allclose(model.weight / model.scale, [0.03, 2e-8, 0.0], rtol=0.01, atol=1e-8)


def test_sgd_with_a_feature_that_must_not_save_power_is_as_good_as_least_squares_and_better_than_cut_off_weights() -> (
    None
):
    chance = np.random.default_rng(2)
    work = chance.uniform(0, 1, 2000)
    X = np.column_stack([work, work + chance.uniform(0, 0.2, 2000)])
    y = 10 + 60 * X[:, 0] - 20 * X[:, 1]  # W
    data = training_rows(X, y)

    def error(predicted: Floats) -> float:
        return float(((predicted - y) ** 2).mean() ** 0.5)

    ours, best = (error(trainer(name).fit(data).predict(X)) for name in TEN[:2])
    assert ours == pytest.approx(best, rel=0.02)
    assert error(10 + 60 * X[:, 0]) > 5 * best  # what is left when the other weight is cut off afterwards


def test_polynomial_finds_squares_and_products() -> None:
    x = np.random.default_rng(3).uniform(0, [4000, 9e9], (300, 2))

    def watts(rows: Floats) -> Floats:
        u, v = (rows / [4000, 9e9]).T
        return 20 + 10 * u + 30 * u**2 + 5 * u * v

    model = trainer("PolynomialRegressionTrainer").fit(training_rows(x, watts(x)))
    more = np.array([[2000.0, 9e9], [8000.0, 18e9], [0.0, 0.0]])
    np.testing.assert_allclose(model.predict(more), [20 + 5 + 7.5 + 2.5, 20 + 20 + 120 + 20, 20], rtol=1e-9)


def test_neighbours_say_the_mean_of_the_six_nearest() -> None:
    x = np.arange(20.0)[:, None]
    model = trainer("KNeighborsRegressorTrainer").fit(training_rows(x, 10 * x[:, 0]))
    assert model.predict(np.array([[9.5], [0.0], [1e9]])).tolist() == pytest.approx([95, 25, 165])
    few = trainer("KNeighborsRegressorTrainer").fit(training_rows(x[:3], 10 * x[:3, 0]))
    assert few.predict(x[:1]).tolist() == pytest.approx([10])  # of three rows all are the nearest


def test_rows_with_equal_features_count_by_their_mean() -> None:
    x = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.where(np.arange(100) % 2, 30.0, 10.0)
    model = trainer("KNeighborsRegressorTrainer").fit(training_rows(x, y))
    assert model.predict(x).tolist() == pytest.approx([20] * 100)


@pytest.mark.parametrize(
    ("name", "within"),
    [("SVRRegressorTrainer", 1.5), ("GradientBoostingRegressorTrainer", 1.0), ("XgboostFitTrainer", 1.0)],
)
def test_a_bend_is_followed_inside_the_data(name: str, within: float) -> None:
    x = np.random.default_rng(4).uniform(0, 16, (1500, 1))
    model = trainer(name).fit(training_rows(x, 20 + 60 * (x[:, 0] / 16) ** 0.5))
    np.testing.assert_allclose(model.predict(np.array([[4.0], [9.0]])), [50, 65], atol=within)


def test_logarithm() -> None:
    x = loads()[:, 1] / SCALE
    model = curve("LogarithmicRegressionTrainer", 12 * np.log(20 * x + 1) + 25)
    assert (model.law, model.scale) == ("logarithmic", SCALE)
    np.testing.assert_allclose(model.parameters, [12, 20, 25], rtol=1e-3)


def test_logistic() -> None:
    x = loads()[:, 1] / SCALE
    model = curve("LogisticRegressionTrainer", 80 / (1 + np.exp(-9 * (x - 0.4))) + 30)
    np.testing.assert_allclose(model.parameters, [80, 0.4, 9, 30], rtol=1e-3)  # in the order of Kepler's file


@pytest.mark.parametrize(("a", "b", "c"), [(5, 3, 20), (-60, -4, 90)])  # ever faster, and towards a limit
def test_exponential(a: float, b: float, c: float) -> None:
    x = loads()[:, 1] / SCALE
    model = curve("ExponentialRegressionTrainer", a * np.exp(b * x) + c)
    np.testing.assert_allclose(model.parameters, [a, b, c], rtol=1e-3)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_weights_of_a_curve_worked_out_by_hand_are_its_predictions(name: str, intercept: bool) -> None:
    X = loads()
    y = (30 if intercept else 0) + 50 * (X[:, 1] / SCALE) ** 0.7
    found = trainer(name).fit(
        training_rows(X, y, features=["cpu_cycles", "bpf_cpu_time_ms"], main=1, intercept=intercept)
    )
    fitted = Fitted.select(["cpu_cycles", "bpf_cpu_time_ms"], found)
    entry = json.loads(json.dumps(fitted.model.weights(fitted.features)))["All_Weights"]
    assert entry["Numerical_Variables"] == {"bpf_cpu_time_ms": {"scale": SCALE}}
    for row, predicted in zip(X[::40], found.predict(X[::40]), strict=True):
        x, weights = row[1] / SCALE, entry["CurveFit_Weights"]
        if name.startswith("Logistic"):
            height, middle, k, offset = weights
            expected = height / (1 + math.exp(-k * (x - middle))) + offset
        else:
            a, b, c = weights
            expected = a * math.log(b * x + 1) + c if name.startswith("Logarithmic") else a * math.exp(b * x) + c
        assert predicted == pytest.approx(expected, abs=1e-9)
        assert expected >= 0


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_that_would_fall_is_flat(name: str) -> None:
    x = loads()[:, 1] / SCALE
    model = curve(name, 80 - 50 * x)
    np.testing.assert_allclose(model.predict(np.array([[0.0], [SCALE], [1e9]])), 55, rtol=0.01)  # the mean


@pytest.mark.parametrize("name", AT_ZERO)
def test_without_intercept_no_work_is_no_power(name: str) -> None:
    X = loads()
    model = trainer(name).fit(training_rows(X, 5 + 0.01 * X[:, 1], main=1, intercept=False))
    assert model.predict(np.zeros((1, 2)))[0] == pytest.approx(0, abs=1e-9)
    assert model.predict(X[-1:])[0] == pytest.approx(45, abs=6)


@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 40))
@settings(max_examples=12)
@pytest.mark.parametrize("name", TEN)
def test_no_work_whatever_gives_less_than_nothing(name: str, seed: int, intercept: bool, count: int) -> None:
    chance = np.random.default_rng(seed)
    X = chance.exponential(10.0 ** chance.integers(0, 12), (count, 3)) * chance.integers(0, 2, (count, 3))
    y = chance.normal(0, 100, count)  # also watts that make no sense
    found = trainer(name).fit(training_rows(X, y, main=int(chance.integers(3)), intercept=intercept, seed=seed))
    fitted = Fitted.select(["a", "b", "c"], found)
    columns = [["a", "b", "c"].index(feature) for feature in fitted.features]
    anything = np.vstack([np.zeros(3), X, chance.exponential(1e13, (20, 3))])
    predicted = fitted.model.predict(anything[:, columns])
    assert (predicted >= 0).all()
    assert np.isfinite(predicted).all()


@pytest.mark.parametrize("name", TEN)
@pytest.mark.parametrize("intercept", [True, False])
def test_one_row_is_enough_for_a_model_that_says_it(name: str, intercept: bool) -> None:
    model = trainer(name).fit(training_rows(np.array([[100.0, 3.0]]), np.array([42.0]), intercept=intercept))
    assert model.predict(np.array([[100.0, 3.0]]))[0] == pytest.approx(42, abs=0.5)


@pytest.mark.parametrize("name", TEN)
def test_the_same_rows_and_seed_give_the_same_file(name: str, tmp_path: Path) -> None:
    X = loads(900)
    y = 20 + 50 * (X[:, 1] / SCALE) ** 0.5
    contents = []
    for number in range(2):
        fitted = Fitted.select(["a", "b"], trainer(name).fit(training_rows(X, y, main=1, seed=7)))
        file = tmp_path / f"{number}{fitted.model.suffix}"
        fitted.model.save(file)
        contents.append(file.read_bytes())
        again = type(fitted.model).load(file, len(fitted.features))
        columns = [["a", "b"].index(feature) for feature in fitted.features]
        np.testing.assert_array_equal(again.predict(X[:, columns]), fitted.model.predict(X[:, columns]))
    assert contents[0] == contents[1]


def test_a_part_of_the_rows_is_drawn_by_the_seed_and_said() -> None:
    data = training_rows(np.arange(1000.0)[:, None], np.arange(1000.0), seed=3)
    part = subsample(data, 750)
    assert len(part) == 750
    assert np.diff(part.y).min() >= 1  # in their order, none twice
    assert (subsample(data, 750).y == part.y).all()
    assert subsample(data, 1000) is data
    assert subsample_note("SVRRegressorTrainer", 750) is None
    assert subsample_note("XgboostFitTrainer", 10**9) is None
    assert "SVRRegressorTrainer looks at 750 of 24,000 rows" in (subsample_note("SVRRegressorTrainer", 24_000) or "")


def test_support_vectors_of_a_part_are_as_good_as_of_all_rows() -> None:
    x = np.random.default_rng(5).uniform(0, 16, (3000, 1))
    y = 20 + 60 * (x[:, 0] / 16) ** 0.5
    model = trainer("SVRRegressorTrainer").fit(training_rows(x, y))
    assert len(model.estimator[-1].support_) <= 750
    assert np.abs(model.predict(x) - y).mean() < 0.5  # W


@pytest.mark.parametrize("name", ["GradientBoostingRegressorTrainer", "XgboostFitTrainer"])
def test_boosting_goes_on_with_more_trees_and_a_closer_fit(name: str) -> None:
    x = np.random.default_rng(6).uniform(0, 16, (800, 2))
    data = training_rows(x, 20 + 60 * (x[:, 0] / 16) ** 0.5 + x[:, 1])
    first = trainer(name).fit(data)
    second = trainer(name).fit(data, first)
    assert isinstance(first, TreesModel)
    assert isinstance(second, TreesModel)
    assert [model.booster.num_boosted_rounds() for model in (first, second)] == [100, 200]
    before, after = (float(np.abs(model.predict(x) - data.y).mean()) for model in (first, second))
    assert after < 0.9 * before


def test_sgd_goes_on_from_the_weights_that_it_is_given() -> None:
    chance = np.random.default_rng(7)
    X = chance.uniform(0, [4000, 9e9], (2000, 2))
    before = trainer("SGDRegressorTrainer").fit(training_rows(X, 20 + X @ [0.03, 2e-9]))
    quiet = X[:300] * [1, 0]  # the second feature does nothing in the later window
    later = training_rows(quiet, 25 + quiet @ [0.03, 2e-9])
    afresh, gone_on = trainer("SGDRegressorTrainer").fit(later), trainer("SGDRegressorTrainer").fit(later, before)
    assert gone_on.bias == pytest.approx(25, rel=0.02)  # what the later rows tell is learnt …
    busy = np.array([[2000.0, 9e9]])  # … and what they do not tell is kept: 25 + 60 + 18 W
    assert gone_on.predict(busy)[0] == pytest.approx(103, rel=0.02)
    assert afresh.predict(busy)[0] == pytest.approx(85, rel=0.02)
    with_bias = trainer("SGDRegressorTrainer").fit(training_rows(X, X @ [0.03, 2e-9], intercept=False), before)
    assert with_bias.bias == 0

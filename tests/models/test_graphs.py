"""ONNX graphs of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import xgboost
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures
from sklearn.svm import SVR

from kepler_train.models import EstimatorModel, LinearModel, TreesModel, graphs
from kepler_train.models.estimator_graphs import estimator_graph
from kepler_train.models.tree_graphs import booster_graph

if TYPE_CHECKING:
    from onnx import ModelProto

# Cycles/s of a large machine beside ms/s: both ends of what float32 must carry.
X = np.random.default_rng(0).uniform(0, [2e10, 4000], (500, 2))
LINEAR = LinearModel(20.0, np.array([150.0, 30.0]), np.array([2e10, 4000.0]))


def watts(model: ModelProto, rows: np.ndarray = X) -> np.ndarray:
    import onnx
    import onnxruntime

    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (power,) = session.run(None, {"X": rows.astype(np.float32)})
    assert (power.dtype, power.shape) == (np.float32, (len(rows), 1))
    return np.asarray(power[:, 0], dtype=np.float64)


def booster(y: np.ndarray, **settings: object) -> xgboost.Booster:
    return xgboost.train({"nthread": 1, **settings}, xgboost.DMatrix(X, y), 30)


def graph_of(trees: xgboost.Booster) -> ModelProto:
    return booster_graph(bytes(trees.save_raw("json")), 2)


def test_a_linear_graph_has_the_watts_of_its_formula() -> None:
    np.testing.assert_allclose(watts(LINEAR.graph(2)), LINEAR.predict(X), atol=1e-4)
    assert watts(LINEAR.graph(2), np.array([[1e10, 2000.0]])) == pytest.approx(20 + 75 + 15)


def test_trees_take_the_same_branch_at_their_thresholds() -> None:
    trees = booster(100 + X[:, 0] / 1e8)
    table = trees.trees_to_dataframe()
    edges = table.loc[table["Feature"] != "Leaf", ["Feature", "Split"]].drop_duplicates()
    rows = np.repeat(X[:1], len(edges), axis=0)
    rows[np.arange(len(edges)), edges["Feature"].str[1:].astype(int)] = edges["Split"]
    for step in (-np.inf, 0, np.inf):
        near = np.nextafter(rows.astype(np.float32), np.float32(step)) if step else rows
        np.testing.assert_allclose(watts(graph_of(trees), near), trees.inplace_predict(near), atol=1e-3)


def test_trees_below_zero_are_clipped() -> None:
    model = TreesModel(booster(np.where(X[:, 1] > 2000, 5.0, -5.0)))
    power = watts(model.graph(2))
    assert power.min() == 0
    np.testing.assert_allclose(power, model.predict(X), atol=1e-4)


def test_a_booster_that_is_no_sum_of_trees_has_no_graph() -> None:
    with pytest.raises(graphs.NoGraph, match="reg:gamma"):
        graph_of(booster(X[:, 1] + 1, objective="reg:gamma"))
    with pytest.raises(graphs.NoGraph, match="gblinear"):
        graph_of(booster(X[:, 1], booster="gblinear"))


def test_graphs_are_summed_by_weights_and_columns() -> None:
    one = LinearModel(1.0, np.array([10.0]), np.array([4000.0]))
    model = graphs.weighted_sum(
        [LINEAR.graph(2), one.graph(1), one.graph(1)], [0.5, 2.0, -1.0], 2, 3.0, [[0, 1], [1], [1]]
    )
    expected = 3 + 0.5 * LINEAR.predict(X) + one.predict(X[:, 1:])
    np.testing.assert_allclose(watts(model), expected, atol=1e-4)
    np.testing.assert_allclose(watts(graphs.clipped(graphs.weighted_sum([model], [-1.0], 2))), 0)


def test_an_estimator_without_a_converter_has_no_graph() -> None:
    from sklearn.base import BaseEstimator, RegressorMixin

    class Unknown(RegressorMixin, BaseEstimator):
        pass

    with pytest.raises(graphs.NoGraph, match="Unknown cannot be converted"):
        estimator_graph(Unknown(), 2)


@pytest.mark.parametrize(
    "estimator",
    [
        Pipeline([("scale", MaxAbsScaler()), ("products", PolynomialFeatures(3)), ("line", LinearRegression())]),
        Pipeline([("scale", MaxAbsScaler()), ("nearest", KNeighborsRegressor(6))]),
        Pipeline([("scale", MaxAbsScaler()), ("surface", SVR())]),
        Pipeline([("scale", MaxAbsScaler()), ("line", SGDRegressor())]),
        Pipeline([("scale", MaxAbsScaler()), ("line", Ridge())]),  # by skl2onnx
        ExtraTreesRegressor(20, random_state=0),
        RandomForestRegressor(20, random_state=0),
    ],
    ids=lambda estimator: type(estimator[-1] if isinstance(estimator, Pipeline) else estimator).__name__,
)
def test_graphs_of_estimators_have_their_watts(estimator: Any) -> None:
    y = 20 + 100 * np.sqrt(X[:, 0] / 2e10) + X[:, 1] / 1e3
    fitted = EstimatorModel(estimator.fit(X[:300], y[:300]))
    np.testing.assert_allclose(watts(fitted.graph(2)), fitted.predict(X), atol=2e-3)


def test_settings_that_cannot_be_drawn_are_named() -> None:
    with pytest.raises(graphs.NoGraph, match="radial kernel"):
        estimator_graph(SVR(kernel="linear").fit(X[:20] / X.max(axis=0), X[:20, 1] / 4000), 2)
    with pytest.raises(graphs.NoGraph, match="plain mean"):
        estimator_graph(KNeighborsRegressor(weights="distance").fit(X, X[:, 1]), 2)


def test_a_sum_of_no_graphs_is_its_bias_in_every_row() -> None:
    np.testing.assert_array_equal(watts(graphs.weighted_sum([], [], 2, 7.0)), np.full(len(X), 7.0))

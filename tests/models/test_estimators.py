"""Estimators and curves are read without running anything, or refused in one sentence."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from sklearn.svm import SVR

from kepler_train.errors import UserError
from kepler_train.models import CurveModel, EstimatorModel

X = np.array([[1.0, 10.0], [2.0, 5.0], [3.0, 1.0]])
Y = np.array([-5.0, 0.0, 5.0])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    EstimatorModel(LinearRegression().fit(X, Y)).save(tmp_path / "package.skops")
    return tmp_path / "package.skops"


def test_what_an_estimator_says_below_zero_is_zero(file: Path) -> None:
    model = EstimatorModel.load(file, 2)
    assert model.predict(X).tolist() == pytest.approx([0, 0, 5])
    assert model.weights(["a", "b"]) is None


def test_support_vectors_say_what_their_library_says() -> None:
    chance = np.random.default_rng(0)
    rows = chance.uniform(0, [4000, 9e9], (1203, 2))
    estimator = make_pipeline(MaxAbsScaler(), SVR(C=3.0)).fit(rows[:200], 20 + 0.01 * rows[:200, 0])
    expected = estimator.predict(rows)
    assert expected.min() > 0
    np.testing.assert_allclose(EstimatorModel(estimator).predict(rows), expected, atol=1e-4, rtol=0)
    assert EstimatorModel(estimator).predict(rows[:0]).tolist() == []


@pytest.mark.parametrize("length", [0, 10, 300, -1])
def test_an_estimator_that_is_cut_short_is_refused(length: int, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(UserError, match=r"package\.skops is not an estimator of 2 features: it is cut short"):
        EstimatorModel.load(file, 2)


@pytest.mark.parametrize("features", [1, 3])
def test_an_estimator_of_another_number_of_features_is_refused(features: int, file: Path) -> None:
    with pytest.raises(UserError, match=f"is not an estimator of {features} features: it has 2 features"):
        EstimatorModel.load(file, features)


def test_a_type_that_is_not_trusted_is_named_and_not_made(tmp_path: Path) -> None:
    step = FunctionTransformer(subprocess.check_output)
    with ZipFile(tmp_path / "package.skops", "w") as archive:
        made = ZipFile(io.BytesIO(skops.io.dumps(make_pipeline(step, LinearRegression()))))
        for name in made.namelist():
            archive.writestr(name, made.read(name))
    with pytest.raises(UserError, match=r"holds sklearn\.\S+\.FunctionTransformer, which is not trusted"):
        EstimatorModel.load(tmp_path / "package.skops", 2)


def test_an_estimator_that_would_unpack_to_much_more_is_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "package.skops", "w", ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 10**6)
    with pytest.raises(UserError, match="is compressed"):
        EstimatorModel.load(tmp_path / "package.skops", 2)


@pytest.mark.parametrize(
    "schema",
    ["", "[]", "{}", '{"protocol": 99}', '{"__class__": "dict", "__module__": "builtins", "__loader__": "Nothing"}'],
)
def test_something_else_in_the_place_of_an_estimator_is_refused(schema: str, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "package.skops", "w") as archive:
        archive.writestr("schema.json", schema)
    with pytest.raises(UserError, match="is not an estimator of 2 features"):
        EstimatorModel.load(tmp_path / "package.skops", 2)


def test_what_predicts_nothing_is_no_estimator(tmp_path: Path) -> None:
    skops.io.dump({"weights": np.ones(2)}, tmp_path / "package.skops")
    with pytest.raises(UserError, match="is not an estimator of 2 features"):
        EstimatorModel.load(tmp_path / "package.skops", 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"law": "parabolic"}, "is not a curve"),
        ({"parameters": [1.0, 2.0]}, "is not a curve"),  # Kepler panics at a wrong number of them
        ({"parameters": [1.0, 2.0, float("nan")]}, "NaN is not a number of JSON"),
        ({"parameters": [1.0, 2.0, 1e31]}, "is not a curve"),
        ({"parameters": [1.0, 2.0, "3.0"]}, "is not a curve"),
        ({"parameters": [1.0, 2.0, True]}, "is not a curve"),
        ({"parameters": None}, "is not a curve"),
        ({"scale": 0.0}, "is not a curve"),
        ({"scale": "wide"}, "is not a curve"),
    ],
)
def test_a_curve_that_is_none_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    CurveModel("logarithmic", (1.0, 2.0, 3.0), 10.0).save(tmp_path / "package.json")
    content = json.loads((tmp_path / "package.json").read_text())
    assert CurveModel.load(tmp_path / "package.json", 1).predict(np.zeros((1, 1))).tolist() == [3.0]
    (tmp_path / "package.json").write_text(json.dumps(content | change))
    with pytest.raises(UserError, match=words):
        CurveModel.load(tmp_path / "package.json", 1)


def test_a_curve_has_one_feature(tmp_path: Path) -> None:
    CurveModel("exponential", (1.0, 2.0, 3.0), 10.0).save(tmp_path / "package.json")
    with pytest.raises(UserError, match="a curve over one feature, not over 2"):
        CurveModel.load(tmp_path / "package.json", 2)


@pytest.mark.parametrize("content", ["", '{"law": ', "[]", "null"])
def test_a_curve_that_is_cut_short_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(content)
    with pytest.raises(UserError, match=r"package\.json is (cut short or not JSON|something else)"):
        CurveModel.load(tmp_path / "package.json", 1)

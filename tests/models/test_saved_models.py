"""What is loaded is what was trained, or it is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fitting import training_rows

from kepler_train.errors import DataError, UserError
from kepler_train.models import Fitted, LinearModel, PowerModel, TreesModel, load_model, save_model
from kepler_train.train.trainer import TRAINERS, trainer

FEATURES = ["bpf_cpu_time_ms", "bpf_page_cache_hit"]
ROWS = pd.DataFrame(np.random.default_rng(0).uniform(0, [4000, 9000], (300, 2)), columns=FEATURES)
WATTS = {"package": 20 + 0.03 * ROWS["bpf_cpu_time_ms"], "dram": 2 + 0.002 * ROWS["bpf_page_cache_hit"]}


def trained(name: str) -> PowerModel:
    own = trainer(name)
    X = ROWS[FEATURES].to_numpy()
    parts = {
        part: Fitted.on(FEATURES, own.fit(training_rows(X, watts.to_numpy(), features=FEATURES)))
        for part, watts in WATTS.items()
    }
    return PowerModel(name, 3, parts)


@pytest.fixture(params=sorted(TRAINERS))
def model(request: pytest.FixtureRequest) -> PowerModel:
    return trained(request.param)


def test_a_loaded_model_predicts_what_the_trained_one_does(model: PowerModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model", {"output_type": "AbsPower"}, ROWS)
    loaded = load_model(tmp_path / "model")
    assert (loaded.name, loaded.features) == (f"{model.trainer}_3", FEATURES)
    mixed = ROWS[FEATURES[::-1]].assign(other=1.0)  # columns in another order
    for component, watts in model.predict(ROWS).items():
        np.testing.assert_array_equal(loaded.predict(mixed)[component], watts)


def test_a_feature_that_is_missing_is_named(model: PowerModel) -> None:
    with pytest.raises(UserError, match="needs bpf_page_cache_hit"):
        model.predict(ROWS[["bpf_cpu_time_ms"]])


@pytest.mark.parametrize("file", ["package.json", "dram.json", "list"])
@pytest.mark.parametrize("how", ["cut short", "one letter", "gone", "other JSON"])
def test_a_file_that_was_changed_is_refused(file: str, how: str, model: PowerModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model", {}, ROWS)
    path = tmp_path / "model" / (f"{model.name}.json" if file == "list" else file)
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut short":
        path.write_bytes(content[: len(content) // 2])
    elif how == "other JSON":
        path.write_text("{}")
    else:
        path.write_bytes(content.replace(b"e", b"E", 1))
    with pytest.raises(UserError, match="was changed or is missing") as error:
        load_model(tmp_path / "model")
    assert path.name in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 99},
        {"model_file": "../elsewhere.json"},
        {"sha256": {}},
        {"sha256": None},
    ],
)
def test_metadata_that_were_changed_are_refused(change: dict[str, object], model: PowerModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model", {}, ROWS)
    file = tmp_path / "model" / "metadata.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UserError, match=str(tmp_path)):
        load_model(tmp_path / "model")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"metadata\.json is missing"):
        load_model(tmp_path)
    (tmp_path / "metadata.json").write_text("[]")
    with pytest.raises(UserError, match="not the folder of a model"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        {"bias": 1, "weight": [1], "scale": [1]},
        {"bias": 1, "weight": [1, "x"], "scale": [1, 1]},
        {"weight": [1, 1], "scale": [1, 1]},
        {"bias": float("nan"), "weight": [1, 1], "scale": [1, 1]},
        [],
    ],
)
def test_a_linear_model_of_another_shape_is_refused(content: object, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="is not a linear model"):
        LinearModel.load(tmp_path / "package.json", 2)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"learner": {}}', "not JSON"])
def test_trees_of_another_shape_are_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(content)
    with pytest.raises(UserError, match=r"package\.json"):
        TreesModel.load(tmp_path / "package.json", 2)


def test_a_model_that_cannot_be_saved_as_it_is_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LinearModel, "load", lambda *_: LinearModel(1.0, np.ones(2), np.ones(2)))
    with pytest.raises(DataError, match="differs by up to"):
        save_model(trained("LinearRegressionTrainer"), tmp_path / "model", {}, ROWS)


def test_kepler_reads_the_weights_of_a_linear_model_as_the_same_watts(tmp_path: Path) -> None:
    model = trained("LinearRegressionTrainer")
    save_model(model, tmp_path / "model", {"machine_spec": {"cores": 4}}, ROWS)
    weights = json.loads((tmp_path / "model" / "weight.json").read_text())
    assert (weights["model_name"], weights["machine_spec"]) == ("LinearRegressionTrainer_3", {"cores": 4})
    for component, watts in model.predict(ROWS).items():
        entry = weights[component]["All_Weights"]
        power = entry["Bias_Weight"] + sum(
            own["weight"] * (ROWS[feature] / own["scale"]) for feature, own in entry["Numerical_Variables"].items()
        )
        np.testing.assert_allclose(power, watts, rtol=1e-12)
        assert entry["Categorical_Variables"] == {}


def test_the_weights_of_trees_are_the_booster_itself(tmp_path: Path) -> None:
    model = trained("XgboostFitTrainer")
    save_model(model, tmp_path / "model", {}, ROWS)
    weights = json.loads((tmp_path / "model" / "weight.json").read_text())
    for component, watts in model.predict(ROWS).items():
        (tmp_path / "booster.json").write_bytes(base64.b64decode(weights[component]["All_Weights"]["XGboost_Weights"]))
        again = TreesModel.load(tmp_path / "booster.json", 2)
        np.testing.assert_array_equal(again.predict(ROWS[FEATURES].to_numpy()), watts)

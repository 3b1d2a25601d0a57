"""Models as the libraries of kepler-model-server 0.7 read them, in an environment of their own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from earlier_clients import client_python, client_watts
from fitting import training_rows

from kepler_train.models import Fitted, PowerModel, TreesModel, load_model, save_model
from kepler_train.models.metadata import Training
from kepler_train.models.pickles import add_pickles
from kepler_train.train.trainer import trainer

FEATURES = ["bpf_cpu_time_ms", "cpu_cycles"]
ROWS = pd.DataFrame(np.random.default_rng(1).uniform(0, [4000, 2e10], (120, 2)), columns=FEATURES)
WATTS = 20 + 0.01 * ROWS["bpf_cpu_time_ms"].to_numpy() + 2e-9 * ROWS["cpu_cycles"].to_numpy()
BOOSTERS = ["XgboostFitTrainer", "GradientBoostingRegressorTrainer"]
SCIKIT = [
    "LinearRegressionTrainer",
    "SGDRegressorTrainer",
    "PolynomialRegressionTrainer",
    "KNeighborsRegressorTrainer",
    "SVRRegressorTrainer",
]
BRACKETED = "bracketed"
Client = tuple[list[str], dict[str, Any], dict[str, np.ndarray]]


def saved(folder: Path, name: str) -> PowerModel:
    data = training_rows(ROWS.to_numpy(), WATTS, features=FEATURES)
    model = PowerModel(name, 0, {"package": Fitted.select(FEATURES, trainer(name).fit(data))})
    save_model(model, folder, Training(output_type="AbsPower"), ROWS)
    return model


@pytest.fixture(scope="module")
def client(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The versions of the client's libraries, what it predicts with each model, and what was judged here."""
    assert pytestconfig.cache is not None
    python = client_python(pytestconfig.cache.mkdir("clients"))
    home = tmp_path_factory.mktemp("models")
    judged = {name: saved(home / name, name).predict(ROWS)["package"] for name in (*BOOSTERS, *SCIKIT)}
    for name in SCIKIT:
        assert add_pickles(home / name) == ""
    shutil.copytree(home / BOOSTERS[0], home / BRACKETED)
    file = home / BRACKETED / "package.json"
    file.write_bytes(re.sub(rb'"base_score":"([^"]*)"', rb'"base_score":"[\1]"', file.read_bytes()))
    folders = {name: home / name for name in (*judged, BRACKETED)}
    return *client_watts(python, folders, ROWS.to_dict("list"), home), judged


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_booster_predicts_there_what_was_judged_here(name: str, client: Client) -> None:
    (version, _), predicted, judged = client
    assert version == "2.1.2"
    for form in ("model", "weights"):
        np.testing.assert_allclose(predicted[name][form]["package"], judged[name], atol=1e-4)  # W


def test_in_brackets_the_base_score_would_be_lost_there_without_an_error(
    client: Client,
) -> None:
    _, predicted, judged = client
    lost = judged[BOOSTERS[0]] - predicted[BRACKETED]["model"]["package"]
    assert lost.max() == pytest.approx(WATTS.mean() - 0.5, abs=0.1)  # it takes 0.5 W for the mean power


@pytest.mark.parametrize("name", SCIKIT)
def test_pickles_are_read_there_as_the_same_watts(name: str, client: Client) -> None:
    (_, version), predicted, judged = client
    assert version == "1.5.1"
    np.testing.assert_allclose(predicted[name]["model"]["package"], judged[name], rtol=1e-9, atol=1e-4)  # W


@pytest.mark.parametrize("name", BOOSTERS)
def test_the_base_score_is_a_plain_number_and_reads_as_before(name: str, tmp_path: Path) -> None:
    model = saved(tmp_path / "model", name)
    content = (tmp_path / "model" / "package.json").read_bytes()
    score = json.loads(content)["learner"]["learner_model_param"]["base_score"]
    assert float(score) == pytest.approx(WATTS.mean(), abs=0.1)
    np.testing.assert_array_equal(
        load_model(tmp_path / "model").predict(ROWS)["package"], model.predict(ROWS)["package"]
    )
    bracketed = content.replace(f'"base_score":"{score}"'.encode(), f'"base_score":"[{score}]"'.encode())
    assert bracketed != content
    np.testing.assert_array_equal(  # as models of before have it
        TreesModel.read(bracketed, "it", 2).predict(ROWS.to_numpy()), model.predict(ROWS)["package"]
    )


def test_an_attribute_of_the_same_name_is_left_as_it_is() -> None:
    booster = xgboost.train({"max_depth": 1}, xgboost.DMatrix(ROWS.to_numpy(), WATTS), 1)
    booster.set_attr(base_score="[7]", learner_model_param="{}")
    learner = json.loads(TreesModel(booster).content())["learner"]
    assert learner["attributes"] == {"base_score": "[7]", "learner_model_param": "{}"}
    assert "[" not in learner["learner_model_param"]["base_score"]

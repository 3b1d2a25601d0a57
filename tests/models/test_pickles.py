"""Files for clients of kepler-model-server 0.7, read here as such a client reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from fitting import training_rows

from kepler_train.models import CurveModel, Fitted, LinearModel, PowerModel, load_model, save_model
from kepler_train.models.artifact import read_metadata
from kepler_train.models.metadata import Training
from kepler_train.models.pickles import add_pickles
from kepler_train.models.sums import write_sums
from kepler_train.train.trainer import trainer

FEATURES = ["bpf_cpu_time_ms", "cpu_cycles"]
ROWS = pd.DataFrame(np.random.default_rng(1).uniform(0, [4000, 2e10], (200, 2)), columns=FEATURES)
ABOUT = Training(output_type="AbsPower", machine_spec={"cores": 4}, workloads={"cpu": 3})


def saved(folder: Path, *names: str) -> PowerModel:
    """A model of package and dram power, by one trainer for each."""
    parts = {}
    for component, name in zip(("package", "dram"), names * 2, strict=False):
        y = 20 + 0.01 * ROWS["bpf_cpu_time_ms"].to_numpy() + 2e-9 * ROWS["cpu_cycles"].to_numpy()
        data = training_rows(ROWS[FEATURES].to_numpy(), y, features=FEATURES)
        parts[component] = Fitted.select(FEATURES, trainer(name).fit(data))
    model = PowerModel(names[0], 0, parts)
    save_model(model, folder, ABOUT, ROWS)
    return model


def client_watts(folder: Path) -> dict[str, np.ndarray]:
    """What a client predicts: transform, predict, no power below 0 W."""

    def other_model(content: dict[str, Any]) -> dict[str, Any]:
        assert "model_class" in content, "an object inside the metadata is taken for a model"
        return content

    metadata = json.loads((folder / "metadata.json").read_text(), object_hook=other_model)
    assert metadata["model_class"] == "scikit"
    found = {}
    for component, entry in json.loads((folder / metadata["model_file"]).read_text()).items():
        X = ROWS[entry["features"]].to_numpy()
        for name in entry["fe_files"]:
            X = joblib.load(folder / name).transform(X)
        found[component] = np.maximum(joblib.load(folder / entry["model_file"]).predict(X).squeeze(), 0)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "LinearRegressionTrainer",
        "SGDRegressorTrainer",
        "PolynomialRegressionTrainer",
        "KNeighborsRegressorTrainer",
        "SVRRegressorTrainer",
    ],
)
def test_a_client_reads_the_same_watts(name: str, tmp_path: Path) -> None:
    model = saved(tmp_path / "model", name)
    assert add_pickles(tmp_path / "model") == ""
    for component, watts in client_watts(tmp_path / "model").items():
        np.testing.assert_allclose(
            watts, model.predict(ROWS)[component], rtol=1e-9, atol=1e-4
        )  # W; of support vectors we take exponentials in float32
    entry = json.loads((tmp_path / "model" / f"{name}_0.json").read_text())["package"]
    assert (entry["model_file"], entry["fe_files"][0]) == ("package.pkl", "scaler.pkl")


def test_we_read_our_own_files_and_all_metadata_as_before(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", "LinearRegressionTrainer")
    before = read_metadata(tmp_path / "model")
    add_pickles(tmp_path / "model")
    for file in (tmp_path / "model").glob("*.pkl"):  # what we do not load may hold anything
        file.write_bytes(b"boom")
    write_sums(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(ROWS)["dram"], model.predict(ROWS)["dram"])
    assert read_metadata(tmp_path / "model") == before


def test_components_of_other_scales_have_scalers_of_their_own(tmp_path: Path) -> None:
    parts = {
        component: Fitted([feature], LinearModel(5.0, np.array([30.0]), np.array([scale])))
        for component, feature, scale in (("package", "cpu_cycles", 2e10), ("dram", "bpf_cpu_time_ms", 4000.0))
    }
    model = PowerModel("LinearRegressionTrainer", 0, parts)
    save_model(model, tmp_path / "model", ABOUT, ROWS)
    add_pickles(tmp_path / "model")
    assert {file.name for file in (tmp_path / "model").glob("*scaler.pkl")} == {"scaler.pkl", "dram_scaler.pkl"}
    for component, watts in client_watts(tmp_path / "model").items():
        np.testing.assert_allclose(watts, model.predict(ROWS)[component])


def test_boosters_need_no_pickle(tmp_path: Path) -> None:
    saved(tmp_path / "model", "XgboostFitTrainer")
    assert add_pickles(tmp_path / "model") == ""
    assert not list((tmp_path / "model").glob("*.pkl"))
    assert "workloads" not in json.loads((tmp_path / "model" / "metadata.json").read_text())


def test_what_their_clients_cannot_read_without_their_code_is_refused(tmp_path: Path) -> None:
    curve = CurveModel("exponential", (1.0, 1.0, 1.0), 4000.0)
    model = PowerModel("ExponentialRegressionTrainer", 0, {"package": Fitted(["bpf_cpu_time_ms"], curve)})
    save_model(model, tmp_path / "curve", ABOUT, ROWS)
    before = (tmp_path / "curve" / "SHA256SUMS").read_text()
    assert "no such model without code of theirs or ours (CurveModel)" in add_pickles(tmp_path / "curve")
    assert (tmp_path / "curve" / "SHA256SUMS").read_text() == before
    saved(tmp_path / "mixed", "LinearRegressionTrainer", "XgboostFitTrainer")
    assert "a mix of kinds" in add_pickles(tmp_path / "mixed")

"""Models of the public model database: read where that needs no pickle, refused by name where it does."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kepler_train.errors import UserError
from kepler_train.models.public import is_public_model, read_public_model

DATABASE = Path(__file__).parents[1] / "data" / "model-db"
GROUP = "rapl-sysfs/AbsPower/BPFOnly"
CPU, CACHE = "bpf_cpu_time_ms", "bpf_page_cache_hit"


def entry(variables: dict[str, dict[str, float]], **more: Any) -> dict[str, Any]:
    return {"All_Weights": {"Categorical_Variables": {}, "Numerical_Variables": variables} | more}


def linear(bias: float, weight: float, feature: str = CPU, scale: float = 100.0) -> dict[str, Any]:
    return entry({feature: {"scale": scale, "weight": weight}}, Bias_Weight=bias)


def weights(folder: Path, name: str, content: Any, place: str = GROUP) -> Path:
    """Write the file of weights of a model into its folder of the database."""
    file = folder / place / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    return file


def watts(file: Path, **features: float) -> dict[str, float]:
    model, _ = read_public_model(file)
    return {name: float(own[0]) for name, own in model.predict(pd.DataFrame(features, index=[0])).items()}


@pytest.mark.parametrize("name", ["XgboostFitTrainer_0", "XgboostFitTrainer_1"])
def test_boosters_predict_what_their_own_libraries_predict(name: str, tmp_path: Path) -> None:
    known = json.loads((DATABASE / "watts.json").read_text())
    rows = pd.DataFrame(known["rows"])
    shutil.unpack_archive(DATABASE / GROUP / f"{name}.zip", tmp_path / GROUP / name)
    for path in (DATABASE / GROUP / f"{name}.zip", tmp_path / GROUP / name):
        assert is_public_model(path)
        model, metadata = read_public_model(path)
        for component, expected in known["watts"][name].items():
            np.testing.assert_array_equal(model.predict(rows)[component], expected)
    assert (metadata.energy_source, metadata.output_type, metadata.feature_group) == tuple(GROUP.split("/"))
    assert (metadata.mae, metadata.mape, metadata.interval, metadata.hull) == (1.25, 2.5, {}, {})


def test_a_linear_model_is_bias_plus_weight_times_x_over_scale_and_never_below_0_w(tmp_path: Path) -> None:
    file = weights(tmp_path, "SGDRegressorTrainer_3", {"package": linear(10, 5), "dram": linear(10, -50)})
    assert watts(file, **{CPU: 50.0}) == {"package": 12.5, "dram": 0.0}
    _, metadata = read_public_model(file)
    assert (metadata.model_name, metadata.node_type, metadata.trainer) == (
        "SGDRegressorTrainer_3",
        3,
        "SGDRegressorTrainer",
    )


def test_features_of_0_6_go_by_todays_names_and_units(tmp_path: Path) -> None:
    old = {"package": linear(0, 30, "bpf_cpu_time_us", 1e6)}  # 30 W at a second of CPU time in a second
    file = weights(tmp_path, "SGDRegressorTrainer_1", old, "rapl/AbsPower/BPFOnly")
    assert watts(file, **{CPU: 500.0}) == {"package": 15.0}
    assert read_public_model(file)[1].energy_source == "rapl-sysfs"


@pytest.mark.parametrize(
    ("trainer", "parameters", "expected"),
    [
        ("LogarithmicRegressionTrainer", [10.0, np.e - 1, 3.0], 13.0),  # 10·ln((e − 1)·1 + 1) + 3
        ("ExponentialRegressionTrainer", [2.0, np.log(5), 3.0], 13.0),  # 2·e^(ln 5·1) + 3
        ("LogisticRegressionTrainer", [20.0, 1.0, 7.0, 3.0], 13.0),  # 20/2 + 3
    ],
)
def test_a_curve_is_over_the_main_feature_of_its_group(
    trainer: str, parameters: list[float], expected: float, tmp_path: Path
) -> None:
    variables = {"bpf_block_irq": {"scale": 1.0}, CPU: {"scale": 100.0}, CACHE: {"scale": 7.0}}
    curve = entry(variables, CurveFit_Weights=parameters)
    file = weights(tmp_path, f"{trainer}_0", {"package": curve, "dram": curve}, "rapl-sysfs/AbsPower/BPFIRQ")
    assert watts(file, **{CPU: 100.0, CACHE: 7.0}) == {
        "package": pytest.approx(expected),
        "dram": pytest.approx(expected),
    }


def packed(folder: Path, files: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "SGDRegressorTrainer_0.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return folder / "SGDRegressorTrainer_0.zip"


def scikit(**more: Any) -> dict[str, Any]:
    about = {"model_name": "SGDRegressorTrainer_0", "model_class": "scikit", "model_file": "SGDRegressorTrainer_0.json"}
    component = {"model_file": "package.pkl", "features": [CPU], "fe_files": ["scaler.pkl"]}
    return {
        "metadata.json": about | {"features": [CPU], "fe_files": [], "output_type": "AbsPower", "mae": 1.0},
        "SGDRegressorTrainer_0.json": {"package": component | more},
        "package.pkl": b"boom",
    }


def test_a_pickle_is_refused_by_its_name(tmp_path: Path) -> None:
    path = packed(tmp_path / GROUP, scikit())
    with pytest.raises(
        UserError, match=r"needs package\.pkl, which is a pickle: .*take one with weights, or of XGBoost"
    ):
        read_public_model(path)
    scaled = packed(tmp_path / GROUP, scikit(model_file="package.json"))
    with pytest.raises(UserError, match=r"needs scaler\.pkl, which is a pickle"):
        read_public_model(scaled)
    beside = weights(tmp_path, "SGDRegressorTrainer_0", {"package": linear(1, 2)})
    with pytest.raises(UserError, match=f"name its weights, {beside}"):
        read_public_model(path)


def test_weights_in_a_zip_make_its_pickles_needless(tmp_path: Path) -> None:
    path = packed(tmp_path / GROUP, scikit() | {"weight.json": {"package": linear(10, 5)}})
    assert watts(path, **{CPU: 50.0}) == {"package": 12.5}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "no list of components"),
        ([], "is something else"),
        ({"package": 1}, "1 is in the place of an object"),
        ({"package": {}}, "'All_Weights' is missing"),
        ({"package": linear(1, 2, scale=0)}, "0 is not a number from 1e-30"),
        ({"package": linear(1, 1e31)}, "is not a number from -1e"),
        ({"package": entry({}, Bias_Weight=1)}, "a list of 1 to"),
        ({"package": entry({CPU: {"scale": 1}}, Bias_Weight=1)}, "'weight' is missing"),
        ({"package": entry({CPU: {"scale": 1, "weight": 1, "mean": 3}}, Bias_Weight=1)}, "is shifted"),
        ({"package": entry({CPU: {"scale": 1}}, CurveFit_Weights=[1])}, "is no trainer of curves"),
        ({"package": entry({CPU: {"scale": 1}}, XGboost_Weights="%")}, "is not a model of kepler-model-server"),
        ({"package": entry({CPU: {"scale": 1}}, XGboost_Weights="e30=")}, "is not a model of boosted trees"),
        ({"package": linear(1, 2), "machine_spec": []}, "in the place of an object"),
        (
            {"package": entry({CPU: {"scale": 1}, "bpf_cpu_time_us": {"scale": 1}}, Bias_Weight=1)},
            "a feature is there by two names",
        ),
    ],
)
def test_what_is_no_model_is_refused_in_one_sentence(content: Any, words: str, tmp_path: Path) -> None:
    file = weights(tmp_path, "SGDRegressorTrainer_0", content)
    with pytest.raises(UserError, match=words) as refused:
        read_public_model(file)
    assert str(file) in str(refused.value) or str(file.parent) in str(refused.value)


def test_weights_out_of_their_place_must_say_what_they_are_of(tmp_path: Path) -> None:
    file = weights(tmp_path, "SGDRegressorTrainer_0", {"package": linear(1, 2)}, "downloads")
    with pytest.raises(UserError, match="does not say whether it is of AbsPower or DynPower"):
        read_public_model(file)
    unnamed = weights(tmp_path, "weights", {"package": linear(1, 2)})
    with pytest.raises(UserError, match="is not <trainer>_<node type>"):
        read_public_model(unnamed)


def test_estimates_have_watts_and_errors_but_no_interval(
    kepler_train: Callable[..., tuple[int, list[str], list[str]]], tmp_path: Path
) -> None:
    cpu = np.linspace(0, 4000, 40)
    rows = pd.DataFrame({"timestamp": 1_794_614_400 + 3 * np.arange(40), CPU: cpu, CACHE: 1.0})
    rows.assign(package_power=12 + 0.05 * cpu).to_csv(tmp_path / "rows.csv", index=False)
    file = weights(tmp_path, "SGDRegressorTrainer_0", {"package": linear(10, 5)})
    code, lines, errors = kepler_train("estimate", "-m", str(file), "-i", "rows.csv", "-o", "out.csv")
    assert (code, errors) == (0, [])
    assert lines[0] == "  package: 110.00 W on average; 2.00 W off what was measured"
    estimated = pd.read_csv("out.csv")
    np.testing.assert_allclose(estimated["package_power"], 10 + 0.05 * cpu)
    assert estimated["package_power_low"].isna().all()
    for target in ("estimate", "curve", "residuals"):
        done = kepler_train("plot", "--target-data", target, "-m", str(file), "-i", "rows.csv", "-o", f"{target}.png")
        assert (done[0], done[2]) == (0, [])
    code, _, errors = kepler_train("estimate", "-m", str(packed(tmp_path, scikit())), "-i", "rows.csv")
    assert (code, len(errors)) == (2, 1)
    assert "package.pkl, which is a pickle" in errors[0]

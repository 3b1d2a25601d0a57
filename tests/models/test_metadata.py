"""Metadata of models from outside: what no training writes is refused in one sentence that names the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kepler_train.errors import UserError
from kepler_train.estimate.predict import predict
from kepler_train.models import Fitted, LinearModel, PowerModel
from kepler_train.models.archive import MOST_FILES
from kepler_train.models.artifact import read_metadata, read_model
from kepler_train.models.files import METADATA
from kepler_train.models.lags import feature_problem
from kepler_train.models.metadata import Training
from kepler_train.models.sums import write_sums

STORED = Path(__file__).parents[1] / "data" / "schema-3" / "DynPower_xgboost.json"
WHOLE: dict[str, Any] = json.loads(STORED.read_text())
HULL, INTERVAL = WHOLE["hull"]["package"], WHOLE["interval"]["package"]
DEEP = json.loads("[" * 20 + "]" * 20)


def refusal(folder: Path, change: dict[str, Any]) -> str:
    """Return the sentence by which changed metadata are refused."""
    (folder / METADATA).write_text(json.dumps(WHOLE | change))
    with pytest.raises(UserError) as refused:
        read_metadata(folder)
    assert str(folder) in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"node_type": -1}, "node_type|-1 is not a whole number"),
        ({"node_type": 10**9}, "1000000000 is not a whole number from 0 to 999999999"),
        ({"node_type": 10**300}, "node_type|is not a whole number"),
        ({"node_type": "1; rm -rf"}, "node_type is missing or wrong"),
        ({"node_type": 2}, "'XgboostFitTrainer_1' is not <trainer>_<node type>"),
        ({"trainer": "x" * 5000, "model_name": "x" * 5000 + "_1"}, "has 5,000 characters, more than 253"),
        ({"trainer": "a\nb", "model_name": "a\nb_1"}, "cannot be printed"),
        ({"trainer": ""}, "a name is empty"),
        ({"model_file": "m" * 300}, "has 300 characters"),
        ({"schema_version": "9" * 5000}, "names no version of the format"),
        ({"features": []}, "a list of 1 to 1000 features"),
        ({"features": [f"f{number}" for number in range(1001)]}, "a list of 1 to 1000 features"),
        ({"features": ["cpu_cycles", "cpu_cycles"]}, "a feature is there twice"),
        ({"features": ["cpu_cycles", ""]}, "a name is empty"),
        ({"features": ["n" * 5000]}, "has 5,000 characters"),
        ({"features": ["http://me:SECRET@host"]}, "the name 'http://'… is an address"),
        ({"features": ["cpu_cycles@-999999999"]}, "is of no window"),
        ({"features": ["cpu_cycles@-x"]}, "is of no window"),
        ({"features": ["cpu_cycles", 3]}, "features.1 is missing or wrong"),
        ({"energy_source": "\u202e" * 3}, "cannot be printed"),
        ({"machine_id": "m" * 1000}, "has 1,000 characters"),
        ({"machine_spec": {"cores": -4}}, "machine_spec: cores"),
        ({"machine_spec": {"cores": DEEP}}, "machine_spec: cores"),
        ({"machine_spec": {"processor": 5}}, "machine_spec: processor"),
        ({"machine_spec": []}, "machine_spec is missing or wrong"),
        ({"rows": -1}, "-1 is not a whole number"),
        ({"window": ["yesterday", "today"]}, "window is not the times"),
        ({"window": ["2026-11-14T00:00:00+00:00"]}, "window is not the times"),
        ({"window": ["2026-11-14T00:00:00", "2026-11-14T01:00:00"]}, "window is not the times"),
        ({"window": ["2026-11-14T01:00:00+00:00", "2026-11-14T00:00:00+00:00"]}, "window is not the times"),
        ({"window": ["2026-11-14T01:00:00+00:00", "2026-11-14T02:00:00"]}, "window is not the times"),
        ({"interval": {"package": INTERVAL | {"share": -1}}}, "-1.0 is not a number from 0"),
        ({"interval": {"package": INTERVAL | {"constant": 1e31}}}, "1e\\+31 is not a number from 0"),
        ({"interval": {"package": INTERVAL | {"level": 2}}}, "2.0 is not a number from 0 to 1"),
        ({"interval": {"package": INTERVAL | {"level": "nan"}}}, "interval.package.level is missing or wrong"),
        ({"interval": {"": INTERVAL}}, "a name is empty"),
        ({"interval": [INTERVAL]}, "interval is missing or wrong"),
        ({"hull": {"package": HULL | {"features": ["a"]}}}, "an array of 1 numbers is something else"),
        ({"hull": {"package": HULL | {"features": []}}}, "no list of 1 to 1000 features"),
        ({"hull": {"package": HULL | {"features": "ab"}}}, "no list of 1 to 1000 features"),
        ({"hull": {"package": HULL | {"features": ["a", "\0"]}}}, "NUL"),
        ({"hull": {"package": HULL | {"scale": [1, 0]}}}, "a number is not from"),
        ({"hull": {"package": HULL | {"scale": ["1", "2"]}}}, "an array of 2 numbers is something else"),
        ({"hull": {"package": HULL | {"scale": [[1], [2]]}}}, "an array of 2 numbers is something else"),
        ({"hull": {"package": HULL | {"low": [1, [2], 3, 4]}}}, "hull of the model cannot be read"),
        ({"hull": {"package": {}}}, "hull of the model cannot be read: 'features'"),
        ({"main_features": {"package": "x@-0"}}, "is of no window"),
        ({"sharing": {"package": {"a": -1.0}}}, "-1.0 is not a number from 0"),
        ({"sharing": {"package": {"a" * 300: 1.0}}}, "has 300 characters"),
        ({"mae": "inf"}, "mae is missing or wrong"),
        ({"figures": {"blocked": {"package": {"mae": "nan"}}}}, "figures.blocked.package"),
    ],
)
def test_what_no_training_writes_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    sentence = refusal(tmp_path, change)
    assert [part for part in words.split("|") if part.replace("\\", "") in sentence], sentence
    assert "SECRET" not in sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema_version": 3, "schema_version": 3}', "the key 'schema_version' is there twice"),
        ('{"mae": NaN}', "NaN is not a number of JSON"),
        ('{"mae": 1e999}', "a number is beyond float64"),
        ('{"rows": 1' + "0" * 400 + "}", "a number is beyond float64"),
        ('{"a": ' * 500 + "1" + "}" * 500, "nested more than 32 deep"),
        ('{"trainer": "\\ud800"}', "half a character"),
        ("\ufeff", "Expecting value"),
    ],
)
def test_json_that_is_not_strict_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"{METADATA} is cut short or not JSON: .*{words}"):
        read_metadata(tmp_path)


def test_metadata_that_are_no_file_are_missing_and_nobody_waits_for_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / METADATA)
    with pytest.raises(UserError, match=r"metadata\.json is missing"):
        read_metadata(tmp_path)


def linear_folder(folder: Path, features: list[str]) -> Path:
    """Write the files of a linear model whose metadata are those of a run."""
    name = "LinearRegressionTrainer_1"
    entry = {"features": ["cpu_cycles"], "kind": "linear", "file": "package.json"}
    about = {"model_name": name, "trainer": "LinearRegressionTrainer", "model_file": f"{name}.json"}
    (folder / METADATA).write_text(json.dumps(WHOLE | about | {"features": features}))
    (folder / f"{name}.json").write_text(json.dumps({"package": entry}))
    LinearModel(1.0, np.ones(1), np.ones(1)).save(folder / "package.json")
    write_sums(folder)
    return folder


def test_components_and_metadata_must_name_the_same_features(tmp_path: Path) -> None:
    model, metadata = read_model(linear_folder(tmp_path, ["cpu_cycles"]))
    assert model.features == metadata.features
    with pytest.raises(UserError, match=r"its metadata\.json and its components differ in features"):
        read_model(linear_folder(tmp_path, ["cache_miss"]))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"": {}}, "a name is empty is missing or wrong"),
        ({"p" * 300: {}}, "has 300 characters"),
        ({f"c{number}": {} for number in range(101)}, "a list of 1 to 100 components"),
        ({"package": {"features": ["a", "a"]}}, "a feature is there twice"),
        ({"package": {"features": ["a@-0"]}}, "is of no window"),
        ({"package": {"features": ["a"], "kind": "linear", "file": "x" * 5000}}, "is not among the files it vouches"),
    ],
)
def test_a_list_of_components_with_absurd_names_is_refused(entries: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = linear_folder(tmp_path, ["cpu_cycles"])
    (folder / "LinearRegressionTrainer_1.json").write_text(json.dumps(entries))
    write_sums(folder)
    with pytest.raises(UserError, match=words) as refused:
        read_model(folder)
    assert str(folder) in str(refused.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"{'0' * 64}  {'n' * 5000}"], "is not a list of check sums"),
        ([f"{'0' * 64}  a\x1b[2J"], "is not a list of check sums"),
        ([f"{'0' * 64}  f{number}" for number in range(MOST_FILES + 1)], "holds 201 files, which is no model"),
    ],
)
def test_absurd_sums_are_refused(lines: list[str], words: str, tmp_path: Path) -> None:
    folder = linear_folder(tmp_path, ["cpu_cycles"])
    (folder / "SHA256SUMS").write_text("\n".join(lines))
    with pytest.raises(UserError, match=words):
        read_model(folder)


def test_a_file_that_is_endless_is_refused_without_reading_it(tmp_path: Path) -> None:
    folder = linear_folder(tmp_path, ["cpu_cycles"])
    with (folder / "package.json").open("wb") as file:
        file.truncate(10**12)  # bytes that no disk holds
    with pytest.raises(UserError, match="holds more than 512 MB, which is no model"):
        read_model(folder)
    with (folder / METADATA).open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(UserError, match=r"metadata\.json is larger than 67,108,864 bytes"):
        read_model(folder)


@pytest.mark.parametrize(("name", "fine"), [("a@-1", True), ("a@-100", True), ("a@-101", False), ("a@-١", False)])
def test_a_feature_of_an_earlier_window_says_which(name: str, fine: bool) -> None:
    assert (feature_problem(name) is None) is fine


def test_a_model_without_an_interval_is_refused_in_a_sentence() -> None:
    model = PowerModel("Trainer", 0, {"package": Fitted(["a"], LinearModel(1.0, np.ones(1), np.ones(1)))})
    with pytest.raises(UserError, match="The model Trainer_0 has no interval of package: train it again"):
        predict(model, Training(), {"a": 1.0})

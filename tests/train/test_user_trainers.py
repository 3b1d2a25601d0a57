"""Trainers that users add, in a folder or by a package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fitting import FEATURES, node_rows, training_rows

from kepler_train.catalog import catalog
from kepler_train.errors import DataError, UserError
from kepler_train.models import EstimatorModel
from kepler_train.spec import form_schema, read_spec
from kepler_train.train.held_out import held_out
from kepler_train.train.trainer import check_trainer, trainer
from kepler_train.train.training_set import training_sets

FRAME = ("--features", "frame", "--node-type", "0")
KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "trainers.md"
EMPTY = "class Name:\n    name, additive, continues, lags = 'Name', False, False, 0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of trainers, with that of the page in it."""
    place = tmp_path / "trainers"
    place.mkdir()
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (place / "RidgeTrainer.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("KEPLER_TRAIN_TRAINERS", str(place))
    return place


@pytest.fixture
def rows() -> pd.DataFrame:
    chance = np.random.default_rng(0)
    return pd.DataFrame({"cpu_cycles": chance.uniform(0, 9e9, 200), "cache_miss": chance.uniform(0, 1e6, 200)})


@pytest.mark.usefixtures("folder")
def test_the_trainer_of_the_page_learns_and_its_model_is_read_without_it(rows: pd.DataFrame, tmp_path: Path) -> None:
    features = list(rows.columns)
    watts = 30 + 1e-8 * rows["cpu_cycles"].to_numpy() + 5e-6 * rows["cache_miss"].to_numpy()
    fitted = trainer("RidgeTrainer").fit(training_rows(rows.to_numpy(), watts, features=features))
    np.testing.assert_allclose(fitted.predict(rows.to_numpy()), watts, rtol=0.01)
    fitted.save(tmp_path / "package.skops")
    again = EstimatorModel.load(tmp_path / "package.skops", 2).predict(rows.to_numpy())
    np.testing.assert_array_equal(again, fitted.predict(rows.to_numpy()))


@pytest.mark.usefixtures("folder")
def test_a_trainer_of_a_user_is_a_name_like_any_other_in_specs_and_in_the_form() -> None:
    assert read_spec({"abs_trainers": "RidgeTrainer"}).abs_trainers == ["RidgeTrainer"]
    assert "RidgeTrainer" in form_schema()["dyn_trainers"]["items"]["enum"]
    with pytest.raises(UserError, match="did you mean 'RidgeTrainer'"):
        read_spec({"abs_trainers": "RigdeTrainer"})


def test_the_page_tells_of_every_trainer() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == set(catalog().trainers)


def test_without_the_folder_the_name_is_unknown() -> None:
    with pytest.raises(UserError, match="There is no trainer 'RidgeTrainer'"):
        read_spec({"abs_trainers": "RidgeTrainer"})


def test_a_package_offers_trainers_by_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "warm.py").write_text(
        "class Warm:\n    name, additive, continues, lags = 'WarmTrainer', False, False, 0\n"
        "    def fit(self, data, before=None): return 'warm'\n",
        encoding="utf-8",
    )
    info = tmp_path / "warm-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: warm\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[kepler_train.trainers]\nWarmTrainer = warm:Warm\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_spec({"dyn_trainers": "WarmTrainer"}).dyn_trainers == ["WarmTrainer"]
    assert trainer("WarmTrainer").fit(training_rows(np.ones((2, 1)), np.ones(2))) == "warm"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("import nothing_like_it", "cannot be imported: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("def broken(:", "cannot be imported: SyntaxError"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
        ("class Other: pass", "has no class Name"),
        ("Name = 3", "has no class Name"),
        ("class Name: pass", "has no name, to be of type str"),
        (EMPTY.replace("'Name'", "'Other'"), "calls itself Other"),
        (EMPTY, r"has no fit\(data, before\)"),
        (EMPTY + "    def __init__(self, needed): ...\n", "cannot be made: TypeError"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_sentence_that_names_it(
    content: str, words: str, folder: Path
) -> None:
    (folder / "Name.py").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=words) as error:
        check_trainer("Name")
    assert str(folder / "Name.py") in str(error.value)
    assert str(error.value).count(".\n") == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my-trainer.py", "'my-trainer' is not the name of a class"),
        ("XgboostFitTrainer.py", "has the name of another trainer, XgboostFitTrainer"),
    ],
)
def test_names_that_cannot_be_used_are_refused(name: str, words: str, folder: Path) -> None:
    (folder / name).write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=words):
        read_spec({"abs_trainers": "RidgeTrainer"})


def test_a_name_twice_and_a_folder_that_is_not_there_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder.with_name("others")
    monkeypatch.setenv("KEPLER_TRAIN_TRAINERS", f"{folder}:{other}")
    with pytest.raises(UserError, match="others, which is not a folder"):
        trainer("RidgeTrainer")
    other.mkdir()
    (other / "RidgeTrainer.py").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="Two trainers are called RidgeTrainer"):
        trainer("RidgeTrainer")


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        ("raise SystemExit(0)", "Name cannot learn package from 48 rows of 2 features: SystemExit: 0."),
        ("return None", "Name made a model of package that cannot predict: AttributeError: 'NoneType' object has no"),
        ("return EstimatorModel(Ridge())", "Name made a model of package that cannot predict: NotFittedError: This"),
        ("return Says(np.ones(3))", "Name made a model of package that gives 3 numbers for 12 rows."),
        ("return Says(np.ones((12, 2)))", "Name made a model of package that gives 24 numbers for 12 rows."),
        ("return Says(np.full(12, np.nan))", "Name has no number for some rows of package that it has not seen."),
    ],
)
def test_a_trainer_whose_models_are_none_is_named_in_one_sentence(fit: str, words: str, folder: Path) -> None:
    head = """
import numpy as np
from sklearn.linear_model import Ridge
from kepler_train.models import EstimatorModel

class Says:
    def __init__(self, watts): self.watts = watts
    def predict(self, X): return self.watts

"""
    (folder / "Name.py").write_text(f"{head}{EMPTY}    def fit(self, data, before=None): {fit}\n", encoding="utf-8")
    rows = node_rows(60, ["idle", "cpu"])
    sets = training_sets(rows, FEATURES, {"package": "package"}, "BPFOnly", intercept=True, seed=0)
    with pytest.raises(DataError) as error:
        held_out(trainer("Name"), rows, sets, 5)
    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("does", "words"),
    [
        (
            "raise RuntimeError('out of luck')",
            "Name cannot learn package from 48 rows of 1 features: RuntimeError: out",
        ),
        ("import os; os._exit(7)", "Name ended its process while it learnt, without a word."),
    ],
)
def test_a_trainer_that_fails_fails_alone_and_is_named_with_its_error(
    does: str, words: str, kepler_train: KeplerTrain, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PATH", str(tmp_path / "models"))
    body = f"    def fit(self, data, before=None): {does}\n"
    (folder / "Name.py").write_text(EMPTY + body, encoding="utf-8")
    cpu = np.random.default_rng(0).uniform(0, 4000, 60)
    frame = pd.DataFrame(
        {"timestamp": 1.7e9 + 15 * np.arange(60), "bpf_cpu_time_ms": cpu, "package_power": 20 + cpu / 99}
    )
    frame.to_csv(tmp_path / "frame.csv", index=False)
    code, said, errors = kepler_train(
        *(
            "train-from-data",
            "-i",
            str(tmp_path / "frame.csv"),
            "-p",
            "mine",
            "--features",
            "frame",
            "--node-type",
            "0",
        ),
        *("--trainers", "Name,LinearRegressionTrainer"),
    )
    assert code == 3, errors
    assert errors == [f"error: 1 of 2 models could not be trained: {tmp_path}/models/mine/README.md says why."]
    assert sum(f"rapl-sysfs/AbsPower/BPFOnly/Name cannot be trained: {words}" in line for line in said) == 1
    written = [json.loads(file.read_text())["trainer"] for file in (tmp_path / "models").rglob("*_0/metadata.json")]
    assert written == ["LinearRegressionTrainer"]
    report = (tmp_path / "models" / "mine" / "README.md").read_text()
    assert re.search(rf"rapl-sysfs/AbsPower/BPFOnly/Name.*{re.escape(words)}", report)

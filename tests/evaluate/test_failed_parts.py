"""A model that could not be trained, or is without a trainer that failed: the report of its run says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_rows import SOURCE, labelled_rows, node_type, train_rows

from kepler_train.errors import DataError
from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judging import judge_models
from kepler_train.evaluate.step import evaluate
from kepler_train.export.report import REPORT
from kepler_train.export.step import export, export_models
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec, read_spec
from kepler_train.workspace import Inputs, Run, open_store
from kepler_train.workspace.failures import noting_failure

LINEAR, FAILED, LOST = (
    ModelKey(SOURCE, "AbsPower", "BPFOnly", f"{name}RegressionTrainer") for name in ("Linear", "Logistic", "Polynomial")
)


@pytest.fixture
def spec() -> RunSpec:
    trainers = [key.trainer for key in (LINEAR, FAILED, LOST)]
    window = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T01:00:00Z"}
    return read_spec({"pipeline": "mine", "output_types": "AbsPower", "abs_trainers": trainers, "folds": 3} | window)


def test_the_report_of_a_run_names_the_trainer_and_its_reason(spec: RunSpec, tmp_path: Path) -> None:
    run = Run.named(open_store(str(tmp_path / "workspace")), "mine/monday")
    why = "LogisticRegressionTrainer cannot learn package from 80 rows of 2 features: ValueError: no step."
    with pytest.raises(DataError), noting_failure(run, "train", str(FAILED), spec):
        raise DataError(why)
    folders = {name: tmp_path / name for name in ("plan", "validate", "train", "isolate", "evaluate", "export")}
    for folder in folders.values():
        folder.mkdir()
    train_rows(labelled_rows(), spec, LINEAR, folders["train"])
    nothing = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    (folders["isolate"] / ISOLATION).write_text(nothing.model_dump_json())
    node_type(0).write(folders["isolate"])
    inputs = Inputs(run, "", folders, {"train": {str(LINEAR): folders["train"]}})

    evaluate(inputs, spec, folders["evaluate"])
    missing = Evaluation.read(folders["evaluate"]).missing
    assert missing == {FAILED: why, LOST: ""}  # of one that was killed nothing is known
    export(inputs, spec, folders["export"])
    report = (folders["export"] / "mine" / REPORT).read_text()
    assert f"| {FAILED} | {why} |" in report
    assert f"| {LOST} | see the log of its task |" in report


FAILS = """
class FailingTrainer:
    name, additive, continues, lags = "FailingTrainer", True, False, 0
    def fit(self, data, before=None):
        raise ValueError("a | b")
"""


def test_a_trainer_that_auto_did_without_is_said_once_and_named_in_the_metadata_the_report_and_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/FailingTrainer.py").write_text(FAILS)
    monkeypatch.setenv("KEPLER_TRAIN_TRAINERS", str(tmp_path / "own"))
    monkeypatch.setattr("kepler_train.train.trainers.auto.house_trainers", lambda: ["LinearRegressionTrainer"])
    window = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T01:00:00Z"}
    asked = {"pipeline": "mine", "output_types": "AbsPower", "abs_trainers": "auto", "folds": 2}
    spec, key = read_spec(asked | window), ModelKey(SOURCE, "AbsPower", "BPFOnly", "auto")
    for name in ("train", "evaluate", "export"):
        (tmp_path / name).mkdir()
    train_rows(labelled_rows(), spec, key, tmp_path / "train")  # dozens of fits
    assert capsys.readouterr().out.count("FailingTrainer fails and is left out") == 1
    metadata = json.loads((tmp_path / "train/model/metadata.json").read_text())
    assert metadata["left_out"] == {"FailingTrainer": "ValueError: a | b"}

    nothing = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    (tmp_path / ISOLATION).write_text(nothing.model_dump_json())
    node_type(0).write(tmp_path)
    trained = {key: tmp_path / "train"}
    judge_models(trained, spec, tmp_path / "evaluate")
    export_models(trained, tmp_path, tmp_path / "evaluate", None, spec, "a/run", tmp_path / "export")
    home = tmp_path / "export/mine"
    assert rf"| FailingTrainer | ValueError: a \| b | {key} |" in (home / REPORT).read_text()
    (card,) = home.rglob("model_card.md")
    assert (
        r"| trainers that failed, left out where they did | FailingTrainer (ValueError: a \| b) |" in card.read_text()
    )

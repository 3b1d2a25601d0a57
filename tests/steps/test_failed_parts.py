"""A model that could not be trained: the report of its run says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_rows import SOURCE, labelled_rows, train_rows

from kepler_train.errors import DataError
from kepler_train.export.report import REPORT
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.spec import RunSpec, read_spec
from kepler_train.steps.evaluate import EVALUATION, evaluate
from kepler_train.steps.export import export
from kepler_train.workspace import Inputs, Run, open_store
from kepler_train.workspace.failures import noting_failure

LINEAR, FAILED, LOST = (
    f"{SOURCE}/AbsPower/BPFOnly/{name}RegressionTrainer" for name in ("Linear", "Logistic", "Polynomial")
)


@pytest.fixture
def spec() -> RunSpec:
    trainers = [part.rpartition("/")[2] for part in (LINEAR, FAILED, LOST)]
    window = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T01:00:00Z"}
    return read_spec({"pipeline": "mine", "output_types": "AbsPower", "abs_trainers": trainers, "folds": 3} | window)


def test_the_report_of_a_run_names_the_trainer_and_its_reason(spec: RunSpec, tmp_path: Path) -> None:
    run = Run.named(open_store(str(tmp_path / "workspace")), "mine/monday")
    why = "LogisticRegressionTrainer cannot learn package from 80 rows of 2 features: ValueError: no step."
    with pytest.raises(DataError), noting_failure(run, "train", FAILED, spec):
        raise DataError(why)
    folders = {name: tmp_path / name for name in ("train", "isolate", "evaluate", "export")}
    for folder in folders.values():
        folder.mkdir()
    train_rows(labelled_rows(), spec, LINEAR, folders["train"])
    nothing = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    (folders["isolate"] / ISOLATION).write_text(nothing.model_dump_json())
    inputs = Inputs(run, "", folders, {"train": {LINEAR: folders["train"]}})

    evaluate(inputs, spec, folders["evaluate"])
    missing = json.loads((folders["evaluate"] / EVALUATION).read_text())["missing"]
    assert missing == {FAILED: why, LOST: ""}  # of one that was killed nothing is known
    export(inputs, spec, folders["export"])
    report = (folders["export"] / "mine" / REPORT).read_text()
    assert f"| {FAILED} | {why} |" in report
    assert f"| {LOST} | see the log of its task |" in report

"""Checkpoints: models of a pipeline that the plan keeps, and training that goes on from them or says why not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from labelled_rows import SOURCE, labelled_rows, train_rows

from kepler_train.evaluate.judged import MODEL
from kepler_train.model_key import ModelKey
from kepler_train.plan.checkpoints import keep_checkpoints
from kepler_train.spec import RunSpec
from kepler_train.train.checkpoints import CHECKPOINTS, checkpoints

XGBOOST = ModelKey(SOURCE, "AbsPower", "BPFOnly", "XgboostFitTrainer")
FEATURES = {"package": ["bpf_cpu_time_ms", "bpf_page_cache_hit"]}
LATER = datetime(2026, 11, 15, tzinfo=UTC)


def spec(**more: object) -> RunSpec:
    trainers = ["XgboostFitTrainer", "LinearRegressionTrainer"]
    chosen = {"pipeline": "tonight", "output_types": ["AbsPower"], "abs_trainers": trainers, "folds": 2, "node_type": 0}
    return RunSpec.model_validate(chosen | more)


def trees(folder: Path) -> int:
    learner = json.loads((folder / MODEL / "package.json").read_text())["learner"]
    return len(learner["gradient_booster"]["model"]["trees"])


def trained(run: RunSpec, start: str, out: Path, kept: Path | None = None) -> Path:
    out.mkdir(parents=True)
    train_rows(labelled_rows(start=start), run, XGBOOST, out, kept)
    return out


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline `lastnight`, of 14 November."""
    folder = tmp_path_factory.mktemp("models")
    first = trained(spec(), "2026-11-14", folder / "train")
    for name in ("XgboostFitTrainer_0", "LinearRegressionTrainer_0"):
        shutil.copytree(first / MODEL, folder / "models" / "lastnight" / SOURCE / "AbsPower" / "BPFOnly" / name)
    return folder / "models"


def test_training_goes_on_from_the_pipeline_that_is_named(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = spec(continue_from="lastnight")
    keep_checkpoints(run, str(models), tmp_path / "plan")
    kept = [path.name for path in (tmp_path / "plan" / CHECKPOINTS / str(XGBOOST.family)).iterdir()]
    assert kept == ["XgboostFitTrainer_0"]  # a linear model is not gone on from
    out = trained(run, "2026-11-15", tmp_path / "later", tmp_path / "plan")
    assert trees(out) == 200
    assert json.loads((out / MODEL / "metadata.json").read_text())["continued"] is True
    assert "train: training goes on from XgboostFitTrainer_0 for package" in capsys.readouterr().out


def test_training_starts_afresh_when_features_or_node_type_or_rows_tell_it_to_and_says_so(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = spec(continue_from="lastnight")
    keep_checkpoints(run, str(models), tmp_path)
    fewer, same = {"package": ["bpf_cpu_time_ms"]}, datetime(2026, 11, 14, tzinfo=UTC)
    other_type = spec(continue_from="lastnight", node_type=2)
    for asked, features, start, words in (
        (run, fewer, LATER, "package starts afresh, because its features were bpf_cpu_time_ms, bpf_page_cache_hit"),
        (run, FEATURES, same, "because it has seen rows that are held out now"),
        (other_type, FEATURES, LATER, "because that is of node type 0 and not 2"),
    ):
        assert checkpoints(tmp_path, XGBOOST, asked, features, start) == {}
        assert words in capsys.readouterr().out


def test_where_there_is_nothing_to_go_on_from_training_starts_afresh_and_says_so(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for pipeline, kept in (("firstnight", tmp_path), ("lastnight", None)):
        run = spec(continue_from=pipeline)
        keep_checkpoints(run, str(models), tmp_path)
        assert checkpoints(kept, XGBOOST, run, FEATURES, LATER) == {}
        assert f"because {pipeline} has no model of XgboostFitTrainer to go on from" in capsys.readouterr().out


def test_a_checkpoint_that_was_changed_is_not_gone_on_from(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = spec(continue_from="lastnight")
    keep_checkpoints(run, str(models), tmp_path)
    file = tmp_path / CHECKPOINTS / f"{XGBOOST}_0" / "package.json"
    file.write_bytes(file.read_bytes()[:1000])
    assert checkpoints(tmp_path, XGBOOST, run, FEATURES, LATER) == {}
    why = "because the model of lastnight cannot be read: XgboostFitTrainer_0/package.json is not the file"
    assert capsys.readouterr().out.startswith(f"warning: Training starts afresh, {why}")


def test_nobody_asked_and_nothing_is_kept_or_said(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_checkpoints(spec(), str(models), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert checkpoints(tmp_path, XGBOOST, spec(), FEATURES, LATER) == {}
    linear = replace(XGBOOST, trainer="LinearRegressionTrainer")
    assert checkpoints(tmp_path, linear, spec(continue_from="lastnight"), FEATURES, LATER) == {}
    assert capsys.readouterr().out == ""

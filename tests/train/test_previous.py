"""What was published before: compared with, gone on from, and never mistaken for what is made now."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from labelled_rows import SOURCE, labelled_rows, node_type, train_rows

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HELD_OUT, MODEL
from kepler_train.evaluate.judging import judge_models
from kepler_train.export.layout import export_model, export_pipeline
from kepler_train.model_key import ModelKey
from kepler_train.plan.previous import keep_previous
from kepler_train.publish.target import open_target, unless_older
from kepler_train.publish.version import version_of
from kepler_train.spec import RunSpec
from kepler_train.train.previous import BEST

SGD, LINEAR = (
    ModelKey(SOURCE, "AbsPower", "BPFOnly", name) for name in ("SGDRegressorTrainer", "LinearRegressionTrainer")
)


def spec(day: int, **more: object) -> RunSpec:
    window = {"start": datetime(2026, 11, day, tzinfo=UTC), "end": datetime(2026, 11, day, 1, tzinfo=UTC)}
    trainers = [SGD.trainer, LINEAR.trainer]
    return RunSpec(pipeline="mine", output_types=["AbsPower"], abs_trainers=trainers, folds=3, **window, **more)


def trained(key: ModelKey, run: RunSpec, out: Path, kept: Path | None = None, rows: pd.DataFrame | None = None) -> Path:
    out.mkdir(parents=True)
    frame = labelled_rows(start=f"{run.window[0]:%Y-%m-%d}") if rows is None else rows
    train_rows(frame, run, key, out, kept)
    return out


def metadata(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / MODEL / "metadata.json").read_text())
    return found


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Models of 14 November, published: the linear one is the better."""
    folder, run = tmp_path_factory.mktemp("published"), spec(14)
    models = {key: trained(key, run, folder / "train" / str(key)) for key in (SGD, LINEAR)}
    judge_models(models, run, folder)
    evaluation = Evaluation.read(folder)
    (folder / "export").mkdir()
    for key, home in models.items():
        export_model(home, folder / "export", key, evaluation)
    export_pipeline(folder / "export", run.model_copy(update={"node_type": 0}), "none", evaluation, node_type(0))
    target = open_target(str(folder / "models"))
    version = version_of(folder / "export", run.window[1])
    target.add(folder / "export", "mine", version)
    target.move_latest("mine", unless_older(version))
    return str(folder / "models")


def test_the_best_published_model_stands_beside_the_new_one(published: str, tmp_path: Path) -> None:
    run = spec(15)
    keep_previous(run, published, tmp_path)
    assert [path.name for path in (tmp_path / BEST / str(LINEAR.family)).iterdir()] == ["LinearRegressionTrainer_0"]
    changed = labelled_rows(start="2026-11-15")
    changed[f"{SOURCE}/package_power"] += 5.0
    out = trained(LINEAR, run, tmp_path / "train", tmp_path, changed)
    rows = pd.read_parquet(out / HELD_OUT)
    package = rows[rows["component"] == "package"]
    assert (package["measured"] - package["previous"]).tolist() == pytest.approx([5.0] * len(package))
    assert metadata(out)["previous"] == {"model": "LinearRegressionTrainer_0", "overlaps": False}
    judge_models({LINEAR: out}, run, tmp_path)
    baselines = Evaluation.read(tmp_path).baselines[LINEAR.family]
    assert list(baselines) == ["mean", "cpu_time", "previous"]
    assert baselines["previous"]["forward"]["package"].mae == pytest.approx(5.0)


def test_a_version_of_this_window_or_a_later_one_is_not_previous(published: str, tmp_path: Path) -> None:
    for day in (13, 14):
        keep_previous(spec(day), published, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_previous_model_that_has_seen_the_rows_is_said_to_have(published: str, tmp_path: Path) -> None:
    run = spec(15)
    keep_previous(run, published, tmp_path)
    out = trained(LINEAR, run, tmp_path / "train", tmp_path, labelled_rows(start="2026-11-14"))
    assert metadata(out)["previous"] == {"model": "LinearRegressionTrainer_0", "overlaps": True}


def test_models_that_cannot_be_fetched_stop_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_previous(spec(15), "gopher://models", tmp_path)
    assert "are not compared with" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Missing_0", "/rapl-sysfs/AbsPower/BPFOnly/Missing_0 and does not have it"),
        ("../../../../outside_0", "is not a table of published models: '../../../../outside_0' is not the name"),
    ],
)
def test_a_table_that_names_what_is_not_there_stops_no_run(
    published: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    shutil.copytree(published, tmp_path / "models", symlinks=True)
    (tmp_path / "outside_0").mkdir()
    table = next((tmp_path / "models").glob("mine/2*/rapl-sysfs_AbsPower_model_metadata.csv"))
    table.write_text(table.read_text().replace("LinearRegressionTrainer_0", name))
    keep_previous(spec(15), str(tmp_path / "models"), tmp_path / "plan")
    assert why in capsys.readouterr().out
    assert not (tmp_path / "plan").exists()

"""The rows that models were trained on, kept with them on request, and trained on again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from simulated import SOURCE, Lab, write_node

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
ABS = f"preprocess_abs_default_{SOURCE}_Basic.csv"
DYN = f"preprocess_dyn_default_min_{SOURCE}_Basic.csv"
LINEAR = "LinearRegressionTrainer"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_node(tmp_path_factory.mktemp("measured"), hours=1)


def test_rows_are_kept_beside_the_models_and_serve_to_train_and_isolate_again(
    kepler_train: KeplerTrain, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PATH", str(tmp_path / "models"))
    (tmp_path / "kepler_query").symlink_to(measured / "kepler_query")
    trainers = ["--abs-trainers", LINEAR, "--dyn-trainers", LINEAR]
    asked = [*trainers, "-fg", "Basic", "--schedule", str(measured / "schedule.json"), "--isolator", "min"]
    assert kepler_train("train", "-p", "lab", *asked, "--preprocessed-data")[0] == 0
    kept = tmp_path / "models/lab/preprocessed_data"
    assert sorted(file.name for file in kept.iterdir()) == [ABS, DYN]
    again = ["-i", str(kept / DYN), "-p", "again", "-ot", "DynPower", "-fg", "Basic", "--trainers", LINEAR]
    code, said, errors = kepler_train("train-from-data", *again)
    assert (code, errors) == (0, []), said
    assert len(list((tmp_path / "models/again").glob("*/DynPower/Basic/*.zip"))) == 1
    code, _, errors = kepler_train(
        "isolate-from-data", "-i", str(kept / ABS), "-o", "isolated.csv", "-fg", "Basic", "--isolator", "min"
    )
    assert (code, errors) == (0, [])
    rows, isolated = pd.read_csv(kept / ABS), pd.read_csv(tmp_path / "isolated.csv")
    idle = rows["package_power"].min()
    assert isolated["package_power"].sum() == pytest.approx((rows["package_power"] - idle).sum())


def test_a_run_keeps_them_when_it_is_asked_to(measured: Path, tmp_path: Path) -> None:
    lab = Lab(
        measured / "kepler_query", tmp_path, preprocessed_csv=True, feature_groups=["Basic"], output_types=["AbsPower"]
    )
    for step in ("extract", "isolate", "train", "evaluate", "export"):
        assert lab.do_parts(step) == []
    assert [file.name for file in (lab.home / "export/lab/preprocessed_data").iterdir()] == [ABS]

"""Training after models of an earlier window: going on from them with `--continue-from`, and compared with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FRAME = ("--features", "frame", "--node-type", "0")
KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]


def write_frame(file: Path, start: float) -> None:
    cpu = np.random.default_rng(0).uniform(0, 4000, 60)
    rows = {"timestamp": start + 15 * np.arange(60), "bpf_cpu_time_ms": cpu, "package_power": 20 + cpu / 100}
    pd.DataFrame(rows).to_csv(file, index=False)


def test_a_command_goes_on_from_an_earlier_pipeline_below_model_path(
    kepler_train: KeplerTrain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PATH", str(tmp_path / "models"))
    for day, start in (("monday", 1.7e9), ("tuesday", 1.7e9 + 86_400)):
        write_frame(tmp_path / f"{day}.csv", start)

    def train(frame: str, pipeline: str, *more: str) -> list[str]:
        code, said, errors = kepler_train(
            *(
                "train-from-data",
                "-i",
                str(tmp_path / f"{frame}.csv"),
                "-p",
                pipeline,
                "--features",
                "frame",
                "--node-type",
                "0",
            ),
            *("--trainers", "GradientBoostingRegressorTrainer", *more),
        )
        assert (code, errors) == (0, [])
        return said

    assert not [line for line in train("monday", "first") if "goes on" in line or "afresh" in line]
    later = train("tuesday", "second", "--continue-from", "first")
    assert "train: training goes on from GradientBoostingRegressorTrainer_0 for package" in later
    (weights,) = (tmp_path / "models" / "second").rglob("GradientBoostingRegressorTrainer_0/package.json")
    trees = json.loads(weights.read_text())["learner"]["gradient_booster"]["model"]["trees"]
    assert len(trees) == 200


def test_what_is_there_of_an_earlier_window_stands_beside_what_takes_its_place(
    kepler_train: KeplerTrain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PATH", str(tmp_path / "models"))

    def report_after(start: float) -> str:
        write_frame(tmp_path / "rows.csv", start)
        code, _, errors = kepler_train(
            *(
                "train-from-data",
                "-i",
                str(tmp_path / "rows.csv"),
                "-p",
                "mine",
                "--features",
                "frame",
                "--node-type",
                "0",
            ),
            *("--trainers", "LinearRegressionTrainer"),
        )
        assert (code, errors) == (0, [])
        return (tmp_path / "models" / "mine" / "README.md").read_text()

    before = "*the version published before: LinearRegressionTrainer_0*"
    assert before not in report_after(1.7e9)
    assert before not in report_after(1.7e9)  # has learnt all of these rows
    assert f"| {before} | BPFOnly | 0.00 " in report_after(1.7e9 + 86_400)  # the same law on the next day
    assert f"| {before[:-1]}, which saw some of these rows* |" in report_after(1.7e9 + 86_400 + 300)
    (card,) = (tmp_path / "models").rglob("LinearRegressionTrainer_0/model_card.md")
    assert f"| *package: {before[1:-1]}, which saw some of these rows* | 0.00 " in card.read_text()
    (tmp_path / "models/mine/train_arguments.json").write_text("[]")
    assert before not in report_after(1.7e9 + 3 * 86_400)

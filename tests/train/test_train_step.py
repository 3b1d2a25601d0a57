"""What a trained model carries: its rows, how it was judged, its interval and its hull."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from labelled_rows import SOURCE, labelled_rows, train_rows

from kepler_train.errors import DataError
from kepler_train.evaluate.judged import HELD_OUT, MODEL
from kepler_train.model_key import ModelKey
from kepler_train.models.hull import Hull
from kepler_train.models.interval import apply_interval
from kepler_train.models.metadata import Interval
from kepler_train.spec import RunSpec
from kepler_train.train.trainers.linear import LinearRegressionTrainer

KEY = ModelKey(SOURCE, "AbsPower", "BPFOnly", "LinearRegressionTrainer")


def trained(rows: pd.DataFrame, out: Path, key: ModelKey = KEY, **asked: Any) -> dict[str, Any]:
    train_rows(rows, RunSpec(**asked), key, out)
    found: dict[str, Any] = json.loads((out / MODEL / "metadata.json").read_text())
    return found


def test_a_model_says_what_it_was_made_of_and_how_it_was_judged(tmp_path: Path) -> None:
    found = trained(labelled_rows(240), tmp_path, seed=3)
    assert found["window"] == ["2026-11-14T00:00:00+00:00", "2026-11-14T00:59:45+00:00"]
    assert (found["rows"], found["workloads"]) == (240, {"idle": 60, "cpu": 60, "vm": 60, "cache": 60})
    assert found["evaluation"] == {"folds": 5, "gap_windows": 4, "window_seconds": 15.0}
    assert found["settings"]["seed"] == 3
    assert found["notes"] == ["uncore is 0 W in every row: there is nothing to learn of it"]


def test_without_a_schedule_it_says_that_blocks_stand_for_loads(tmp_path: Path) -> None:
    found = trained(labelled_rows(100).assign(workload=""), tmp_path)
    assert found["workloads"] == {f"block {number}": 20 for number in range(1, 6)}
    assert any(note.startswith("no schedule is known: blocks of time stand for loads") for note in found["notes"])


def test_its_interval_and_its_hull_are_those_of_every_component(tmp_path: Path) -> None:
    rows = labelled_rows(240)
    chance = np.random.default_rng(5)
    rows[f"{SOURCE}/package_power"] += chance.normal(0, 2.0, 240)
    found = trained(rows, tmp_path, interval_level=0.8)
    assert set(found["interval"]) == set(found["hull"]) == {"package", "uncore"}
    package = found["interval"]["package"]
    assert (package["level"], package["rows"], package["workloads"]) == (0.8, 240, 4)
    low, high = apply_interval(Interval(**package), np.array([60.0]))
    assert (high - low)[0] / 2 == pytest.approx(1.28 * 2.0, rel=0.2)  # 80 % of normal errors of 2 W
    hull = Hull.read(found["hull"]["package"])
    assert not hull.outside(rows).any()
    assert hull.outside(rows.head(1).assign(bpf_cpu_time_ms=9000.0)).all()


class LooksBack(LinearRegressionTrainer):
    """A linear model of this window and the one before."""

    name: ClassVar[str] = "LooksBack"
    additive: ClassVar[bool] = False
    lags: ClassVar[int] = 1


@pytest.fixture
def looks_back(monkeypatch: pytest.MonkeyPatch) -> ModelKey:
    monkeypatch.setattr("kepler_train.train.one_model.find_trainer", lambda _: LooksBack())
    return replace(KEY, trainer="LooksBack")


def test_a_trainer_that_looks_back_sees_the_window_before_even_where_the_load_changed(
    looks_back: ModelKey, tmp_path: Path
) -> None:
    rows = labelled_rows(240)
    before = rows["bpf_cpu_time_ms"].shift(1).fillna(rows["bpf_cpu_time_ms"])
    rows[f"{SOURCE}/package_power"] = 20 + 0.02 * rows["bpf_cpu_time_ms"] + 0.01 * before
    rows.loc[100:102, "workload"] = ""  # the load changes: rows to look back to, not to learn from
    found = trained(rows, tmp_path, looks_back)
    assert found["features"] == ["bpf_cpu_time_ms", "bpf_cpu_time_ms@-1", "bpf_page_cache_hit", "bpf_page_cache_hit@-1"]
    judged = pd.read_parquet(tmp_path / HELD_OUT).query("component == 'package'")
    assert len(judged[judged["protocol"] == "blocked"]) == 237
    np.testing.assert_allclose(judged["predicted"], judged["measured"], atol=1e-6)
    assert found["hull"]["package"]["features"] == ["bpf_cpu_time_ms", "bpf_page_cache_hit"]


def test_containers_have_no_window_before_to_look_back_to(looks_back: ModelKey, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="LooksBack looks at earlier windows"):
        trained(labelled_rows(240), tmp_path, replace(looks_back, output_type="DynPower"))

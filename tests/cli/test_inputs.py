"""Several queries of one machine are one training set, and each row knows its query."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulated import START, write_node

from kepler_train.columns import INPUT, NODE, TIME, WORKLOAD
from kepler_train.extract.row_times import RowTimes, workloads_or_blocks
from kepler_train.runs.inputs import give_inputs
from kepler_train.runs.temporary import TemporaryRun
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
DAY = 86_400.0
QUICK = ["-fg", "BPFOnly", "-e", "rapl-sysfs", "--folds", "2", "--gate-mae", "40", "--gate-limit", "1000"]
LINEAR = ["--abs-trainers", "LinearRegressionTrainer", "--dyn-trainers", "LinearRegressionTrainer"]


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour of a machine on each of two days, 240 windows of 15 s."""
    folder = tmp_path_factory.mktemp("days")
    write_node(folder / "monday", hours=1)
    write_node(folder / "tuesday", hours=1, start=START + DAY, seed=3)
    return folder


def test_two_days_are_one_training_set(
    kepler_train: KeplerTrain, days: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATAPATH", str(days))
    queries = ["monday/kepler_query", "tuesday/kepler_query"]
    schedules = "monday/schedule.json,tuesday/schedule.json"
    code, lines, errors = kepler_train(
        *("train", "-p", "lab", "-i", ",".join(queries), "--schedule", schedules, *QUICK, *LINEAR)
    )
    assert (code, errors) == (0, []), lines
    home = tmp_path / "models/lab"
    for output_type in ("AbsPower", "DynPower"):
        model = home / f"rapl-sysfs/{output_type}/BPFOnly/LinearRegressionTrainer_0"
        metadata = json.loads((model / "metadata.json").read_text())
        assert list(metadata["inputs"]) == queries
        assert sum(metadata["inputs"].values()) == metadata["rows"]
        assert min(metadata["inputs"].values()) > 150
        assert metadata["evaluation"]["window_seconds"] == 15
    assert json.loads((home / "train_arguments.json").read_text())["inputs"] == queries


def test_rows_of_queries_are_extracted_apart(days: Path, tmp_path: Path) -> None:
    samples = {day: days / day / "kepler_query" for day in ("monday", "tuesday")}
    spec = RunSpec(feature_groups=["BPFOnly"], node_type=0)
    run = TemporaryRun(tmp_path, spec)
    run.give_plan(Schedule())
    give_inputs(run, samples, Schedule(), None)
    rows = pd.read_parquet(run.folder("extract") / "node.parquet")
    assert rows[INPUT].value_counts().to_dict() == {"monday": 240, "tuesday": 240}
    assert not rows[(rows[TIME] > rows[TIME].iloc[239]) & (rows[INPUT] == "monday")].size
    containers = pd.read_parquet(run.folder("extract") / "containers.parquet")
    summed = containers.groupby(TIME)["bpf_cpu_time_ms"].sum()
    np.testing.assert_allclose(summed.reindex(rows[TIME]), rows["bpf_cpu_time_ms"])


def test_a_block_of_time_is_of_one_query() -> None:
    times = pd.to_datetime([0, 15, 30, 45, 1000, 1015], unit="s", utc=True)
    frame = pd.DataFrame({TIME: times, NODE: "a", WORKLOAD: "", INPUT: ["x"] * 4 + ["y"] * 2})
    windows = RowTimes.of(frame)
    assert windows.blocks(2).tolist() == [0, 0, 1, 1, 0, 1]
    assert windows.seconds == 15
    assert windows.place.tolist() == [number / 6 for number in range(6)]  # forward looks at the time of the node
    blocks = workloads_or_blocks(frame, 2)[WORKLOAD].tolist()
    assert blocks == ["block 1", "block 1", "block 2", "block 2", "block 3", "block 4"]


def test_queries_that_overlap_are_refused(
    kepler_train: KeplerTrain, days: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATAPATH", str(days))
    write_node(days / "half_past", hours=1, start=START + 1800)
    queries = "monday/kepler_query,half_past/kepler_query"
    code, _, errors = kepler_train("train", "-p", "lab", "-i", queries, "--node-type", "0", *QUICK, *LINEAR)
    assert (code, errors) == (
        2,
        [
            "error: monday/kepler_query and half_past/kepler_query overlap on node node-0 from 2026-11-14 00:30 UTC to"
            " 2026-11-14 01:00 UTC: their rows would count twice, name one of them."
        ],
    )
    code, _, errors = kepler_train("train", "-p", "lab", "-i", "monday/kepler_query,sunday", "--node-type", "0", *QUICK)
    assert code == 2
    assert errors[0].startswith(f"error: There is no query {days}/sunday")
    assert not (tmp_path / "models").exists() or not list((tmp_path / "models").iterdir())

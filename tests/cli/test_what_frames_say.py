"""What a frame says of itself, and what is chosen of it, stays with the models that are trained on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

Ended = tuple[int, list[str], list[str]]
KeplerTrain = Callable[..., Ended]
Typed = Callable[[str], Ended]
START = 1_794_614_400  # 2026-11-14T00:00:00Z
LINEAR = "--trainers LinearRegressionTrainer --node-type 0"


def frame() -> pd.DataFrame:
    """120 rows 3 s apart, the first of the window that ends at START; package = 20 + 0.03·cpu + 0.002·cache W."""
    cpu, cache = np.random.default_rng(0).uniform(0, 4000, (2, 120))
    rows = {"timestamp": START + 3 * np.arange(120), "bpf_cpu_time_ms": cpu, "bpf_page_cache_hit": cache}
    return pd.DataFrame(rows | {"package_power": 20 + 0.03 * cpu + 0.002 * cache})


def write_schedule(file: Path, start: float = START) -> None:
    """Idle for 120 s, cpu for 120 s, vm for 117 s."""
    ends = [0, 120, 240, 357]
    moments = [datetime.fromtimestamp(start + seconds, UTC).isoformat() for seconds in ends]
    loads = zip(("idle", "cpu", "vm"), moments, moments[1:], strict=False)
    phases = [{"load": load, "start": begin, "end": end} for load, begin, end in loads]
    file.write_text(json.dumps({"phases": phases}))


@pytest.fixture
def typed(kepler_train: KeplerTrain, tmp_path: Path) -> Typed:
    """A command as typed, beside `rows.csv` and its `phases.json`."""
    frame().to_csv(tmp_path / "rows.csv", index=False)
    write_schedule(tmp_path / "phases.json")
    return lambda command: kepler_train(*command.split())


def read(pipeline: str, what: str = "metadata.json") -> dict[str, Any]:
    """The metadata of the only model of a pipeline, or a file of the pipeline."""
    home = Path("models") / pipeline
    file = next(home.glob("*/*/*/*/metadata.json")) if what == "metadata.json" else home / what
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_a_schedule_gives_rows_the_load_of_the_phase_that_holds_their_window(typed: Typed) -> None:
    code, _, errors = typed(f"train-from-data -i rows.csv -p mine --schedule phases {LINEAR}")
    assert (code, errors) == (0, [])
    # Windows end at 3, 6, … 120 s in the first phase; that of the first row began before it.
    assert read("mine")["workloads"] == {"idle": 40, "cpu": 40, "vm": 39}
    assert "leave-one-workload-out" in read("mine")["figures"]
    assert read("mine", "train_arguments.json")["schedule"] == "phases"


def test_a_schedule_and_workloads_or_another_time_are_refused(typed: Typed) -> None:
    frame().assign(workload="cpu").to_csv("labelled.csv", index=False)
    code, _, errors = typed("train-from-data -i labelled.csv -p mine --schedule phases")
    assert (code, errors) == (
        2,
        ["error: The frame has workloads of its own: leave out --schedule, or its column workload."],
    )
    write_schedule(Path("later.json"), START + 3600)
    code, _, errors = typed("train-from-data -i rows.csv -p mine --schedule later")
    assert (code, len(errors)) == (2, 1)
    assert "No row of the frame, from 2026-11-14 00:00:00 to 2026-11-14 00:05:57 UTC, lies in a phase" in errors[0]


@pytest.mark.parametrize(
    ("asked", "origin", "note"),
    [
        ("group", "group", ""),
        ("bpf_cpu_time_ms,bpf_page_cache_hit", "list", ""),  # those of the group, by name
        ("bpf_cpu_time_ms", "list", "features are a list of columns, not those of BPFOnly"),
        ("frame", "frame", "features are the frame's own columns, not those of BPFOnly"),
    ],
)
def test_where_features_are_from_is_in_metadata_report_and_arguments(
    typed: Typed, tmp_path: Path, asked: str, origin: str, note: str
) -> None:
    frame().assign(degrees=40 + np.arange(120) % 7).to_csv("rows.csv", index=False)
    code, _, errors = typed(f"train-from-data -i {tmp_path}/rows.csv -p mine --features {asked} {LINEAR}")
    assert (code, errors) == (0, [])
    about, arguments = read("mine"), read("mine", "train_arguments.json")
    assert about["features_from"] == arguments["features_from"] == origin
    assert about["features"] == arguments["features"]
    assert arguments["input"] == "rows.csv"
    assert arguments["input_sha256"] == hashlib.sha256(Path("rows.csv").read_bytes()).hexdigest()
    assert [line for line in about["notes"] if line.startswith("features are")] == ([note] if note else [])
    assert ("**Note:** features are" in Path("models/mine/README.md").read_text()) is bool(note)


@pytest.mark.parametrize("trainer", ["LinearRegressionTrainer", "GradientBoostingRegressorTrainer"])
def test_a_pipeline_to_go_on_from_that_is_not_there_is_refused_with_those_that_are(typed: Typed, trainer: str) -> None:
    train = f"train-from-data -i rows.csv --trainers {trainer} --node-type 0"
    code, _, errors = typed(f"{train} -p mine --continue-from monday")
    assert (code, errors) == (
        2,
        ["error: --continue-from, below models: There is no pipeline 'monday', nor any other."],
    )
    assert typed(f"{train} -p monday")[0] == 0
    code, _, errors = typed(f"{train} -p mine --continue-from mondya")
    assert (code, len(errors)) == (2, 1)
    assert errors[0].endswith("There is no pipeline 'mondya': did you mean 'monday'? Known: monday.")
    assert typed(f"{train} -p mine --continue-from monday")[0] == 0


def test_a_pipeline_without_such_a_model_to_go_on_from_is_said(typed: Typed) -> None:
    assert typed(f"train-from-data -i rows.csv -p monday {LINEAR}")[0] == 0
    other = "--trainers GradientBoostingRegressorTrainer --node-type 0"
    code, said, errors = typed(f"train-from-data -i rows.csv -p mine --continue-from monday {other}")
    assert (code, errors) == (0, [])
    assert any("training starts afresh, because monday has no model of" in line for line in said)


def test_the_node_type_is_the_frames_unless_one_is_named(typed: Typed) -> None:
    def trained(pipeline: str, rows: pd.DataFrame, more: str = "") -> tuple[list[str], str]:
        rows.to_csv("rows.csv", index=False)
        linear = f"--trainers LinearRegressionTrainer {more}"
        code, said, errors = typed(f"train-from-data -i rows.csv -p {pipeline} {linear}")
        assert (code, errors) == (0, [])
        return said, read(pipeline)["model_name"].rpartition("_")[2]

    said, number = trained("four", frame().assign(node_type=4))
    assert (said[0], number) == ("Node type 4, as the frame says.", "4")
    assert read("four", "train_arguments.json")["node_type"] == 4
    said, number = trained("zero", frame().assign(node_type=4), "--node-type 0")
    assert ("Node type 0 is asked for, where the frame says 4." in said[0], number) == (True, "0")
    assert trained("one", frame().assign(node_type=np.arange(120) % 2), "--node-type 1")[1] == "1"


def test_a_frame_that_knows_no_node_type_needs_one(typed: Typed) -> None:
    frame().assign(node_type=-1).to_csv("rows.csv", index=False)  # as earlier tools write it
    code, _, errors = typed("train-from-data -i rows.csv -p mine --trainers LinearRegressionTrainer")
    assert code == 2
    assert "own_node_type" in errors[0]


@pytest.mark.parametrize("command", ["train-from-data -p mine", "isolate-from-data -o out"])
def test_several_node_types_ask_for_one(typed: Typed, command: str) -> None:
    frame().assign(node_type=[1] * 60 + [2] * 60).to_csv("rows.csv", index=False)
    code, _, errors = typed(f"{command} -i rows.csv")
    assert (code, errors) == (
        2,
        ["error: The rows of the frame are of node types 1, 2: name the one that is meant by --node-type."],
    )


def test_training_goes_on_from_a_model_of_the_frames_node_type(typed: Typed) -> None:
    train = "train-from-data --trainers GradientBoostingRegressorTrainer"
    frame().assign(node_type=4).to_csv("monday.csv", index=False)
    later = frame().assign(node_type=4)
    later.assign(timestamp=later["timestamp"] + 86_400).to_csv("tuesday.csv", index=False)
    assert typed(f"{train} -i monday.csv -p monday")[0] == 0
    code, said, errors = typed(f"{train} -i tuesday.csv -p tuesday --continue-from monday")
    assert (code, errors) == (0, [])
    assert "train: training goes on from GradientBoostingRegressorTrainer_4 for package" in said


@pytest.mark.parametrize(
    "line", ["isolate-from-data --isolator min -o out", f"train-from-data -p mine {LINEAR}", "plot"]
)
def test_rapl_is_taken_for_the_source_it_is_served_as(typed: Typed, line: str) -> None:
    code, said, errors = typed(f"{line} -i rows.csv -e rapl")
    assert (code, errors) == (0, [])
    assert "The energy source rapl is taken for rapl-sysfs." in said


@pytest.mark.parametrize("line", ["plot -i nothing.csv", "plot -i folder.csv", "plot -i nothing.parquet"])
def test_a_frame_that_is_not_there_is_called_a_frame(typed: Typed, line: str) -> None:
    Path("folder.csv").mkdir()
    code, _, errors = typed(line)
    name = line.split()[-1]
    assert (code, errors) == (2, [f"error: There is no frame {name}: name a .csv or .parquet file."])


@pytest.mark.parametrize("command", ["validate", "extract", "train -p mine"])
def test_a_frame_where_a_query_is_wanted_is_said_to_be_one(typed: Typed, command: str) -> None:
    for name in ("rows.csv", "rows"):
        code, _, errors = typed(f"{command} -i {name}")
        assert (code, len(errors)) == (2, 1)
        assert f"{name} is a frame, and a query is wanted: name a folder of samples" in errors[0]


@pytest.mark.parametrize("command", ["train-from-data -i rows.csv", "train", "export -o db"])
def test_a_pipeline_needs_a_name(kepler_train: KeplerTrain, typed: Typed, command: str) -> None:
    code, _, errors = kepler_train(*command.split(), "-p", "")
    assert (code, errors) == (2, ["error: The pipeline has no name: give one with --pipeline-name."])

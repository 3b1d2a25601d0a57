"""Isolation in a run and from the command line: profiles, models of a store, and what is wrong with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulated import SOURCE, Recorded, write_node
from temporary import train_models
from typer.testing import CliRunner

from kepler_train.cli.app import app
from kepler_train.errors import UserError
from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.isolation import attributed_file, isolated_node_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.machine.choice import NODE_TYPE
from kepler_train.publish.target import open_target, unless_older
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace import Manifest, Run, open_store

LINEAR = "--dyn-trainers LinearRegressionTrainer"
WINDOW = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T03:00:00Z"}
Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr
KeplerTrain = Callable[..., Ended]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query, its schedule and, in `profiles`, what the machine needs when it is idle."""
    folder = write_node(tmp_path_factory.mktemp("measured"), hours=3)
    places = ["-i", str(folder / "kepler_query"), "-o", str(folder / "profiles")]
    CliRunner().invoke(app, ["profile", *places, "--schedule", str(folder / "schedule.json")], catch_exceptions=False)
    return folder


@pytest.fixture(scope="module")
def models(measured: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline `base` with AbsPower models of two groups."""
    folder = tmp_path_factory.mktemp("models")
    spec = {"pipeline": "base", "output_types": ["AbsPower"], "feature_groups": ["BPFOnly", "Basic"], "folds": 2}
    trained = RunSpec.model_validate({**spec, "abs_trainers": ["LinearRegressionTrainer"], **WINDOW})
    (folder / "scratch").mkdir()
    train_models(measured / "kepler_query", trained, Schedule(), "a/run", folder / "scratch", folder)
    return folder


@pytest.fixture
def typed(kepler_train: Callable[..., Ended], measured: Path, tmp_path: Path) -> KeplerTrain:
    """`kepler-train …` as one line, in a folder with the query."""
    for name in ("kepler_query", "schedule.json"):
        (tmp_path / name).symlink_to(measured / name)
    return lambda line: kepler_train(*line.split())


def removed(lines: list[str]) -> str:
    """The line that says what was removed."""
    return next(line for line in lines if " removes from node-0" in line)


def test_a_profile_by_any_name_removes_the_same(typed: KeplerTrain, measured: Path, tmp_path: Path) -> None:
    code, lines, _ = typed("isolate -o none")
    assert (code, lines[1].startswith("isolate: min, because there is no profile of node type 0")) == (0, True)
    shutil.copytree(measured / "profiles", tmp_path / "profiles")
    _, stored, _ = typed("isolate -fg Basic -o a")  # a profile serves every group of the query
    assert stored[1].startswith("isolate: profile, because there is a profile of node type 0")
    shutil.move("profiles", "kept")
    for name in ("kept", "kept/node_type_0.json", "kept/node_type_0", str(tmp_path / "kept")):
        code, lines, errors = typed(f"isolate -fg Basic -o b --isolator profile --profile {name}")
        assert (code, errors, removed(lines)) == (0, [], removed(stored))
    assert pd.read_parquet("a.parquet").equals(pd.read_parquet("b.parquet"))


def test_a_query_made_at_idle_is_a_profile_too(
    typed: KeplerTrain, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    quiet = write_node(tmp_path_factory.mktemp("quiet"), hours=0.25, idle=3600)  # nothing but background
    shutil.copytree(quiet / "kepler_query", tmp_path / "idle")
    code, lines, errors = typed("isolate --profile idle -o a")
    assert (code, errors) == (0, [])
    assert any(
        line.startswith("isolate: profile, because there is a profile of node type 0, of 900 s") for line in lines
    )
    rows = pd.read_parquet("a.parquet")
    assert rows.groupby("timestamp")["package_power"].sum().median() < 60  # dynamic only: idle is 28 W
    package = float(removed(lines).split("rapl-sysfs/package ")[1].split(" W")[0])
    assert package == pytest.approx(29.5, abs=1)  # 28 W and the background's own


def test_a_model_explains_the_background(
    typed: KeplerTrain, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(models / "base", tmp_path / "models/base")
    asked = "--isolator trainer --abs-pipeline-name base --target-hints stress-"
    code, lines, errors = typed(f"isolate -fg Basic -o a {asked}")
    assert (code, errors) == (0, [])
    assert removed(lines).startswith("isolate: trainer removes from node-0 for Basic: rapl-sysfs/package ")
    rows = pd.read_parquet("a.parquet")
    assert {name.split("/")[1][:7] for name in rows["id"] if name != UNATTRIBUTED} == {"stress-"}
    code, _, _ = typed(f"isolate -fg Basic -o b {asked} --bg-hints stress")  # both given: the target's decide
    assert code == 0
    assert pd.read_parquet("b.parquet").equals(rows)
    monkeypatch.setattr("kepler_train.evaluate.judging.refusal", lambda *_: "")
    code, _, errors = typed(f"train -p dyn -ot DynPower -fg Basic --node-type 0 {asked} {LINEAR}")
    assert (code, errors) == (0, [])
    assert json.loads(Path("models/dyn/metadata.json").read_text())["isolator"] == "trainer"
    report = Path("models/dyn/README.md").read_text()
    assert "Isolator `trainer`, because it was asked for." in report
    assert "**Warning:** Of the rows of node-0 more than 5 % have less power than the background" in report


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("--isolator profile", 2, "make one with `kepler-train profile`"),
        ("--isolator min --profile idle", 2, "The isolator min uses no profile"),
        ("--isolator trainer", 2, "name one in abs_pipeline"),
        ("--isolator trainer --abs-pipeline-name lab", 2, "in target_hints or bg_hints"),
        ("--isolator trainer --abs-pipeline-name lab --target-hints a", 2, "The pipeline lab at models does not exist"),
        ("--isolator trainer --abs-pipeline-name ../lab --target-hints a", 2, "abs_pipeline: "),
        ("--isolator trainer --abs-pipeline-name lab --target-hints (", 2, "'(' is not a regular expression"),
        ("--attribution main", 2, "did you mean 'main-feature'"),
        ("--profile nothing", 2, "There is no query"),
        ("--profile wrong", 2, "wrong has no profile of node type 0"),
        (
            "--profile wrong --node-type 4",
            2,
            "wrong/node_type_4.json is the background profile of node type 0, not of 4",
        ),
        ("--profile broken.json", 2, "broken.json is not a background profile"),
    ],
)
def test_what_cannot_work_is_one_sentence(
    line: str, code: int, words: str, typed: KeplerTrain, measured: Path, tmp_path: Path
) -> None:
    (tmp_path / "wrong").mkdir()
    shutil.copy(measured / "profiles/node_type_0.json", tmp_path / "wrong/node_type_4.json")
    (tmp_path / "broken.json").write_text('{"node_type": 0}')
    ended, _, errors = typed(f"isolate -o out {line}")
    assert (ended, len(errors)) == (code, 1)
    assert words in errors[0]
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("hints", ["--target-hints nothing", "--target-hints .*", "--bg-hints nothing", "--bg-hints ."])
def test_hints_that_tell_nothing_apart_are_one_sentence(
    hints: str, typed: KeplerTrain, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PATH", str(models))
    code, _, errors = typed(f"isolate -o out --isolator trainer --abs-pipeline-name base {hints}")
    assert (code, len(errors), " pod" in errors[0]) == (2, 1, True)


def test_a_pipeline_without_the_group_is_one_sentence(
    typed: KeplerTrain, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PATH", str(models))
    asked = "--isolator trainer --abs-pipeline-name base --target-hints stress"
    code, _, errors = typed(f"isolate -o out -fg CounterOnly {asked}")
    assert (code, errors) == (
        2,
        [
            f"error: The pipeline base at {models} has no AbsPower model for rapl-sysfs on CounterOnly: train it first,"
            " or choose another isolator."
        ],
    )


def isolate_run(measured: Path, workspace: Path, after_plan: Callable[[], object] = bool, **more: Any) -> Run:
    """A run up to isolate, on the samples that are there."""
    spec = RunSpec.model_validate({"pipeline": "lab", "feature_groups": ["BPFOnly"], "node_type": 0, **WINDOW, **more})
    run = Run.named(open_store(str(workspace)), "lab/1")
    run_step(STEPS["plan"], STEPS, run, spec)
    after_plan()
    query = Recorded("query", str(measured / "kepler_query"), needs=("plan",))
    validate = Recorded("validate", "/nonexistent", needs=("plan", "query"))
    for step in (query, validate, STEPS["extract"], STEPS["isolate"]):
        run_step(step, {**STEPS, "query": query, "validate": validate}, run, spec)
    return run


def outcome(workspace: Path) -> Isolation:
    return Isolation.model_validate_json((workspace / "runs/lab/1/isolate" / ISOLATION).read_bytes())


def figures(run: Run) -> dict[str, Any]:
    done = run.manifest("isolate")
    assert isinstance(done, Manifest)
    return done.figures


def test_a_run_uses_the_profile_that_its_plan_saw(measured: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    run = isolate_run(measured, workspace)
    assert (figures(run)["isolator"], figures(run)["warnings"]) == ("min", [])
    shutil.rmtree(workspace)
    shutil.copytree(measured / "profiles", workspace / "profiles")
    run = isolate_run(measured, workspace, lambda: shutil.rmtree(workspace / "profiles"))
    found = figures(run)
    assert (found["isolator"], found["attribution"]) == ("profile", "proportional")
    assert found["clipped"].keys() == {f"{SOURCE}/{name}_power" for name in ("package", "core", "uncore", "dram")}
    assert found["clipped"][f"{SOURCE}/package_power"] > 0.05 * found["rows"]
    assert found["warnings"] == []  # by noise alone
    assert outcome(workspace).asked == "auto"


def test_a_run_takes_the_model_that_was_published_last(measured: Path, models: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    more = {"isolator": "trainer", "abs_pipeline": "base", "target_hints": ["stress"]}
    with pytest.raises(UserError, match=r"^The pipeline base at .*/w/models does not exist"):
        isolate_run(measured, workspace, **more)
    target = open_target(str(workspace / "models"))
    target.add(models / "base", "base", "20261113T020000Z-00000001")
    target.move_latest("base", unless_older("20261113T020000Z-00000001"))
    isolate_run(measured, workspace, **more)
    assert outcome(workspace).isolator == "trainer"
    folder = workspace / "runs/lab/1/isolate"
    node, rows = (pd.read_parquet(folder / name("BPFOnly")) for name in (isolated_node_file, attributed_file))
    power = [name for name in node.columns if name.endswith("_power")]
    summed = rows.groupby("time")[power].sum().reindex(node["time"], fill_value=0.0)
    np.testing.assert_allclose(summed, node[power], rtol=1e-9)
    with pytest.raises(UserError, match=r"has no AbsPower model of node type 7 for rapl-sysfs on BPFOnly"):
        isolate_run(measured, workspace, **more, node_type=7)
    changed = next((workspace / "models/base").glob("2*/*/AbsPower/BPFOnly/*/package.json"))
    changed.write_text(changed.read_text().replace("1", "2"))
    with pytest.raises(UserError, match="is not the file that was saved with this model"):
        isolate_run(measured, workspace, **more)


def test_a_run_without_dynpower_isolates_nothing(measured: Path, tmp_path: Path) -> None:
    run = isolate_run(measured, tmp_path / "w", output_types=["AbsPower"], isolator="none")
    done = run.manifest("isolate")
    assert isinstance(done, Manifest)
    assert [record.path for record in done.outputs] == [ISOLATION, NODE_TYPE]

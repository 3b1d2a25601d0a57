"""The first step of a run and the last: what is settled, and what others get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kepler_train.errors import DataError, UserError
from kepler_train.plan.step import plan
from kepler_train.plan.stored import planned
from kepler_train.publish.step import publish
from kepler_train.runs.registry import STEPS
from kepler_train.runs.runner import run_step
from kepler_train.spec import RunSpec
from kepler_train.workspace import Inputs, Run, open_store

NIGHT = {"pipeline": "lab", "start": "2026-11-13T00:00:00Z", "end": "2026-11-13T02:00:00Z"}


def spec(**more: Any) -> RunSpec:
    return RunSpec.model_validate({**NIGHT, **more})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.named(open_store(str(tmp_path / "w")), "lab/1")


def phase(load: str, start: str, end: str) -> dict[str, str]:
    return {"load": load, "start": f"2026-11-{start}:00Z", "end": f"2026-11-{end}:00Z"}


def test_the_plan_keeps_the_phases_that_touch_the_window(run: Run, tmp_path: Path):
    schedule = tmp_path / "schedule.json"
    phases = [
        phase("ends-as-it-starts", "12T23:00", "13T00:00"),
        phase("reaches-in", "12T23:30", "13T00:30"),
        phase("inside", "13T00:30", "13T01:30"),
        phase("reaches-out", "13T01:30", "13T02:30"),
        phase("starts-as-it-ends", "13T02:00", "13T03:00"),
    ]
    schedule.write_text(json.dumps({"phases": phases}))
    done = run_step(STEPS["plan"], STEPS, run, spec(schedule=str(schedule)))
    assert done.figures == {"start": "2026-11-13 00:00:00 UTC", "end": "2026-11-13 02:00:00 UTC", "phases": 3}
    stored = json.loads(run.store.read("runs/lab/1/plan/schedule.json") or b"")
    assert [one["load"] for one in stored["phases"]] == ["reaches-in", "inside", "reaches-out"]


def test_the_stored_spec_is_the_asked_one(run: Run):
    asked = spec(feature_groups=["BPFOnly"], seed=3, gate_mae=7.5)
    run_step(STEPS["plan"], STEPS, run, asked)
    assert planned(run) == asked
    assert planned(run).digest() == asked.digest()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"isolator": "trainer"}, "needs the pipeline of an AbsPower model"),
        ({"schedule": "/nowhere/schedule.json"}, "There is no schedule at /nowhere/schedule.json"),
    ],
)
def test_what_this_version_cannot_do_is_refused_before_anything_is_done(run: Run, more: dict[str, Any], said: str):
    with pytest.raises(UserError, match=said):
        run_step(STEPS["plan"], STEPS, run, spec(**more))
    assert run.store.sizes("runs") == {}


def exported(folder: Path, *models: str) -> Path:
    for name in ("metadata.json", *models):
        (folder / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "lab" / name).write_text(name)
    return folder


MODEL = "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0.zip"


def test_models_are_published_into_the_workspace_unless_another_place_is_named(run: Run, tmp_path: Path):
    inputs = Inputs(run, "", {"export": exported(tmp_path / "export", MODEL)})
    figures = publish(inputs, spec(), tmp_path)
    assert (tmp_path / "w/models/lab/latest" / MODEL).read_text() == MODEL
    assert figures["version"] == figures["latest"] == (tmp_path / "w/models/lab/latest").readlink().name
    assert figures["version"].startswith("20261113T020000Z-")
    elsewhere = publish(inputs, spec(publish_to=str(tmp_path / "else")), tmp_path)
    assert elsewhere["place"] == f"{tmp_path}/else/lab/{figures['version']}"
    assert json.loads((tmp_path / "published.json").read_text())["target"] == f"{tmp_path}/else"


def test_a_backfill_says_that_latest_is_of_a_newer_window(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    inputs = Inputs(run, "", {"export": exported(tmp_path / "export", MODEL)})
    newest = publish(inputs, spec(), tmp_path)["version"]
    older = publish(inputs, spec(start="2026-11-12T00:00:00Z", end="2026-11-12T02:00:00Z"), tmp_path)
    assert older["latest"] == newest
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "publish: stored, not promoted. The latest version is of a newer window.",
        f"publish: latest of lab is {newest}",
    ]


def test_without_a_good_model_nothing_is_published(run: Run, tmp_path: Path):
    inputs = Inputs(run, "", {"export": exported(tmp_path / "export")})
    with pytest.raises(DataError, match=r"No model of lab passed the gate: nothing is published") as refused:
        publish(inputs, spec(), tmp_path)
    assert refused.value.exit_code == 3
    assert not (tmp_path / "w").exists()


def test_a_plan_needs_a_window(run: Run, tmp_path: Path):
    with pytest.raises(UserError, match="The run has no window yet"):
        plan(Inputs(run, "", {}), RunSpec(), tmp_path)

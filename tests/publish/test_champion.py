"""Versions of real models, night after night: a good one takes the place of the present one, a worse one does not."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from labelled_rows import SOURCE, labelled_rows, train_rows
from publishing import Publishing

from kepler_train.cli import main
from kepler_train.evaluate.judging import judge_models
from kepler_train.export.champion import read_comparison
from kepler_train.export.step import export_models
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.machine.choice import RunNodeType
from kepler_train.machine.node_attributes import NodeAttributes
from kepler_train.model_key import ModelKey
from kepler_train.plan.previous import keep_previous
from kepler_train.publish.age import ageing
from kepler_train.publish.step import publish
from kepler_train.publish.target import open_target
from kepler_train.spec import RunSpec
from kepler_train.workspace import Inputs, Run, open_store

LINEAR = ModelKey(SOURCE, "AbsPower", "BPFOnly", "LinearRegressionTrainer")
LOADS = ("idle", "cpu", "vm", "cache", "regs", "branch") * 4  # each in every block of time
PACKAGE = f"{SOURCE}/package_power"


def night(day: int, noise: float = 0.2, rows: int = 240) -> pd.DataFrame:
    """Rows of a night whose power is off by so many watts at random."""
    frame = labelled_rows(rows, LOADS, f"2026-11-{day:02}", seed=day)
    frame[PACKAGE] += np.random.default_rng(day).normal(0, noise, len(frame))
    return frame


def spec(day: int, **more: Any) -> RunSpec:
    window = {"start": datetime(2026, 11, day, tzinfo=UTC), "end": datetime(2026, 11, day, 1, tzinfo=UTC)}
    trainers = {"abs_trainers": [LINEAR.trainer]}
    return RunSpec.model_validate(
        {"pipeline": "lab", "node_type": 0, "output_types": ["AbsPower"], **trainers, **window, **more}
    )


class Nights:
    """A pipeline at a target, of which each night makes a version."""

    def __init__(self, uri: str, folder: Path) -> None:
        self.uri, self.folder, self.count = uri, folder, 0

    def plan(self, run: RunSpec) -> Path:
        self.count += 1
        home = self.folder / str(self.count)
        (home / "plan").mkdir(parents=True)
        keep_previous(run, self.uri, home / "plan")
        return home

    def train(self, home: Path, run: RunSpec, learnt: pd.DataFrame, key: ModelKey = LINEAR) -> None:
        trained, isolated, out = home / "train", home / "isolate", home / "export"
        for folder in (trained, isolated, out):
            folder.mkdir()
        isolation = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
        (isolated / ISOLATION).write_text(isolation.model_dump_json())
        RunNodeType(number=0, attrs=NodeAttributes(), members=["m5"]).write(isolated)
        train_rows(learnt, run, key, trained, home / "plan")
        judge_models({key: trained}, run, home)
        export_models({key: trained}, isolated, home, None, run, "lab/1", out, home / "plan")

    def publish(self, home: Path, run: RunSpec) -> dict[str, Any]:
        out = home / "publish"
        out.mkdir(exist_ok=True)
        place = Run.named(open_store(str(self.folder / "w")), "lab/1")
        inputs = Inputs(place, "", {"export": home / "export", "plan": home / "plan"})
        figures = publish(inputs, run.model_copy(update={"publish_to": self.uri}), out)
        said = json.loads((out / "published.json").read_text())
        assert (said["promoted"], said["reason"]) == (figures["promoted"], figures["reason"])
        return figures

    def pass_by(self, run: RunSpec, learnt: pd.DataFrame) -> dict[str, Any]:
        home = self.plan(run)
        self.train(home, run, learnt)
        return self.publish(home, run)

    def first(self) -> dict[str, Any]:
        """Publish the version of the 10th, which is trained once for all tests."""
        run, home = spec(10), self.plan(spec(10))
        trained = self.folder.parents[1] / "of-the-10th"
        if not trained.exists():
            self.train(home, run, night(10))
            shutil.copytree(home / "export", trained)
        elif not (home / "export").exists():
            shutil.copytree(trained, home / "export")
        return self.publish(home, run)


@pytest.fixture
def at(tmp_path: Path) -> Nights:
    """A pipeline in a folder; `nights` is also one in a bucket."""
    return Nights(str(tmp_path / "models"), tmp_path / "nights")


@pytest.fixture
def nights(publishing: Publishing, tmp_path: Path) -> Nights:
    return Nights(publishing.new(), tmp_path / "nights")


def test_a_night_like_the_one_before_is_promoted(at: Nights):
    first = at.first()
    assert (first["promoted"], first["reason"]) == (True, "It is the first version.")
    second = at.pass_by(spec(11), night(11))
    assert second["promoted"], second["reason"]
    assert second["reason"].startswith(f"It is not worse than {first['version']} beyond the noise: package of")
    assert second["latest"] == second["version"]


def test_a_worse_model_of_the_same_machine_is_held_back_and_says_why(nights: Nights):
    first = nights.first()
    run = spec(11, gate_mae=1000, gate_mape=1000, gate_limit=1000, abs_trainers=["ExponentialRegressionTrainer"])
    home = nights.plan(run)
    nights.train(home, run, night(11), ModelKey(SOURCE, "AbsPower", "BPFOnly", "ExponentialRegressionTrainer"))
    held = nights.publish(home, run)
    assert not held["promoted"]
    assert held["latest"] == first["version"]
    assert held["reason"].startswith(f"It is worse than {first['version']} beyond the noise: package of rapl-sysfs")
    report = (open_store(nights.uri).read(f"lab/{held['version']}/README.md") or b"").decode()
    assert "## Beside the version before" in report
    assert "| **worse** |" in report
    page = (open_store(nights.uri).read(f"lab/{held['version']}/report.html") or b"").decode()
    assert '<span class="bad">worse</span>' in page
    forced = nights.publish(home, run.model_copy(update={"promote": "always"}))
    assert forced["latest"] == held["version"]


def test_who_was_overtaken_is_compared_with_the_version_that_is_there_now(nights: Nights):
    nights.first()
    late = spec(12, gate_mae=1000, gate_mape=1000, gate_limit=1000, abs_trainers=["ExponentialRegressionTrainer"])
    home = nights.plan(late)  # beside the version of the 10th
    nights.train(home, late, night(12), ModelKey(SOURCE, "AbsPower", "BPFOnly", "ExponentialRegressionTrainer"))
    between = nights.pass_by(spec(11), night(11))
    assert between["promoted"]
    kept = read_comparison(home / "export")
    assert kept is not None
    assert kept.champion != between["version"]
    held = nights.publish(home, late)
    assert (held["promoted"], held["latest"]) == (False, between["version"])
    assert f"worse than {between['version']}" in held["reason"]


def test_the_same_window_again_is_compared_by_held_out_errors_and_the_same_files_are_the_same_version(at: Nights):
    run = spec(10)
    first, again = at.first(), at.first()
    assert (again["version"], again["promoted"]) == (first["version"], True)
    assert again["reason"] == "It is the latest version already."
    other = run.model_copy(update={"publisher": "somebody else"})
    home = at.plan(other)
    at.train(home, other, night(10))
    changed = at.publish(home, other)
    assert changed["version"] != first["version"]
    assert changed["reason"].startswith(f"It is not worse than {first['version']} beyond the noise")
    assert "difference +0.00 to +0.00 W" in changed["reason"]


def test_a_version_that_lacks_what_readers_have_is_held_back(at: Nights):
    first = at.first()
    run = spec(11, feature_groups=["BPFIRQ"])
    home = at.plan(run)
    rows = night(11).assign(bpf_net_tx_irq=0.0, bpf_net_rx_irq=0.0, bpf_block_irq=0.0)
    at.train(home, run, rows, ModelKey(SOURCE, "AbsPower", "BPFIRQ", LINEAR.trainer))
    held = at.publish(home, run)
    assert held["reason"] == f"It has no model of rapl-sysfs/AbsPower/BPFOnly, which {first['version']} has."
    assert held["latest"] == first["version"]


def test_a_present_version_that_cannot_be_read_is_replaced(at: Nights, capsys: pytest.CaptureFixture[str]):
    first = at.first()
    weights = f"lab/{first['version']}/{LINEAR.family}/LinearRegressionTrainer_0/package.json"
    open_store(at.uri).write(weights, b"{}")
    second = at.pass_by(spec(11), night(11))
    assert second["promoted"]
    assert second["reason"].startswith(f"It could not be compared with {first['version']}: ")


def test_few_rows_are_stored_only(at: Nights):
    first = at.first()
    held = at.pass_by(spec(11), night(11, rows=48))
    assert held["reason"] == "It has learnt from 48 rows only, and takes 60 to become the latest."
    assert held["latest"] == first["version"]


def test_rows_that_the_present_version_has_learnt_from_do_not_count(at: Nights):
    at.first()
    run = spec(10, end="2026-11-10T02:00:00Z")
    home = at.plan(run)
    both = pd.concat([night(10), night(11).assign(time=lambda rows: rows["time"] - pd.Timedelta(hours=23))])
    at.train(home, run, both.reset_index(drop=True))
    kept = read_comparison(home / "export")
    assert kept is not None
    package = kept.models[f"{SOURCE}/AbsPower"].differences["package"]
    assert package.rows == 240  # of 480


def test_the_age_of_versions_is_their_error_on_the_rows_of_each_other(
    at: Nights, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """On the 11th the machine takes 5 W more than on the 10th, and keeps to its law."""
    first = at.first()
    rows = night(11)
    rows[PACKAGE] += 5.0
    second = at.pass_by(spec(11, promote="always"), rows)
    target = open_target(at.uri)
    found = ageing(target, "lab", 8, node_type=0)
    assert found.versions == [first["version"], second["version"]]
    package = found.errors[f"{SOURCE}/AbsPower/package"]
    assert package[0, 1] == pytest.approx(5.0, abs=0.1)
    assert package[1, 0] == pytest.approx(5.0, abs=0.1)
    # Noise of 0.2 W is off by 0.2 · √(2/π) = 0.16 W in the mean.
    assert package.diagonal() == pytest.approx([0.16, 0.16], abs=0.03)
    monkeypatch.setattr("sys.argv", ["kepler-train", "models", "age", "lab", "-t", at.uri, "-o", f"{tmp_path}/age"])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    said = capsys.readouterr().out
    assert "rapl-sysfs/AbsPower/package: mean absolute error (W)" in said
    assert said.splitlines()[-1] == f"Wrote {tmp_path}/age.png."
    assert (tmp_path / "age.png").read_bytes().startswith(b"\x89PNG")

"""A temporary run: the query is given, and the other steps are those of every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated import Lab, write_node

from kepler_train.errors import DataError, UserError
from kepler_train.runs.temporary import TemporaryRun
from kepler_train.samples.schedule import Schedule, read_schedule
from kepler_train.train import training_rows
from kepler_train.workspace import Manifest

TRAINERS = ["LinearRegressionTrainer", "PolynomialRegressionTrainer", "XgboostFitTrainer"]
STEPS = ("plan", "query", "validate", "extract", "isolate", "evaluate", "export")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_node(tmp_path_factory.mktemp("measured"), hours=1)


def begun(measured: Path, scratch: Path, **asked: object) -> TemporaryRun:
    """A run that is ready to train."""
    spec = Lab.asked(**{"output_types": ["AbsPower"], "abs_trainers": TRAINERS, "gate_mae": 100, **asked})
    run = TemporaryRun(scratch, spec, "kepler_query")
    run.give_plan(read_schedule(str(measured / "schedule.json")))
    run.give_samples(measured / "kepler_query")
    for step in ("extract", "isolate"):
        run.do(step)
    return run


def test_every_step_leaves_a_manifest_that_names_what_it_read(measured: Path, tmp_path: Path) -> None:
    run = begun(measured, tmp_path, abs_trainers=TRAINERS[:1])
    assert run.train() == {"models": 1, "refused": 0, "report": "lab/README.md", "trained": 1}
    manifests = {step: Manifest.read((run.folder(step) / "manifest.json").read_bytes(), step) for step in STEPS}
    assert {manifest.spec_digest for manifest in manifests.values()} == {run.spec.digest()}
    assert {record.step for record in manifests["extract"].inputs} == {"plan", "query", "validate"}
    assert {record.step for record in manifests["export"].inputs} == {
        *("plan", "validate", "isolate", "evaluate", "train")
    }
    samples = sorted(file.name for file in (measured / "kepler_query").iterdir())
    assert [record.path for record in manifests["query"].outputs] == sorted([*samples, "machines.json"])
    assert "`kepler_query`" in (run.folder("export") / "lab/README.md").read_text()


def test_samples_are_neither_copied_nor_read_for_their_hash(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kepler_train.workspace.fetching.sha256_of", None)  # it would be called to verify
    monkeypatch.setattr("kepler_train.workspace.manifest.sha256_of", None)  # and this to record
    monkeypatch.setattr("os.fsync", None)
    run = begun(measured, tmp_path)
    for file in (measured / "kepler_query").iterdir():
        assert (run.folder("query") / file.name).samefile(file)


def test_the_rows_of_a_family_are_built_once_for_all_its_trainers(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, built = training_rows.read_node_rows, []

    def counted(folder: Path) -> object:
        built.append(folder)
        return read(folder)

    monkeypatch.setattr(training_rows, "read_node_rows", counted)
    assert begun(measured, tmp_path / "one").train()["trained"] == 3
    assert len(built) == 1
    assert begun(measured, tmp_path / "other", folds=3).train()["trained"] == 3  # another run has rows of its own
    assert len(built) == 2


def test_a_model_that_cannot_be_trained_is_a_warning_and_the_others_are_judged(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begun(measured, tmp_path, output_types=["DynPower"], dyn_trainers=["LaggedForestTrainer", TRAINERS[0]])
    assert run.train()["trained"] == 1
    part = "rapl-sysfs/DynPower/BPFOnly/LaggedForestTrainer"
    warnings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning: ")]
    assert [line for line in warnings if part in line] == [
        f"warning: {part} cannot be trained: LaggedForestTrainer looks at earlier windows, which a container may not"
        " have: it is for AbsPower."
    ]


def test_no_model_at_all_is_refused_with_the_reason(measured: Path, tmp_path: Path) -> None:
    run = begun(measured, tmp_path, output_types=["DynPower"], dyn_trainers=["LaggedForestTrainer"])
    with pytest.raises(DataError, match="None of the 1 models could be trained: LaggedForestTrainer looks at"):
        run.train()


def test_what_the_user_must_change_ends_the_run(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("Change this.")

    run = begun(measured, tmp_path)
    monkeypatch.setattr("kepler_train.train.step.train_one", refuse)
    with pytest.raises(UserError, match="Change this"):
        run.train()


def test_a_step_that_fails_leaves_no_files(tmp_path: Path) -> None:
    def fail(out: Path) -> None:
        (out / "half").touch()
        raise DataError("It cannot serve.")

    run = TemporaryRun(tmp_path, Lab.asked())
    with pytest.raises(DataError, match="It cannot serve"):
        run.give("plan", fail)
    assert not run.folder("plan").exists()


def test_a_node_that_is_named_and_not_there_is_refused(measured: Path, tmp_path: Path) -> None:
    run = TemporaryRun(tmp_path, Lab.asked(nodes=["node-0", "node-7"]))
    run.give_plan(Schedule())
    with pytest.raises(DataError, match="node-7"):
        run.give_samples(measured / "kepler_query")

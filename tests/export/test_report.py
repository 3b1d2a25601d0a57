"""The report on an evaluation: what stands where, and what is not hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kepler_train.evaluate.evaluation import Evaluation, ModelVerdict, TrainingSummary
from kepler_train.evaluate.figures import all_figures
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.judging import judge
from kepler_train.export.report import write_report
from kepler_train.export.standings import best_models, tables
from kepler_train.isolate.outcome import Isolation
from kepler_train.model_key import Family, ModelKey
from kepler_train.models.metadata import HoldingOut
from kepler_train.spec import RunSpec

WINDOW = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T01:00:00Z"}
FAMILY = Family("rapl-sysfs", "AbsPower", "BPFOnly")


def model(trainer: str, **other: str) -> ModelKey:
    return replace(ModelKey("rapl-sysfs", "AbsPower", "BPFOnly", trainer), **other)


def held_out(error: float, load: str = "cpu") -> HeldOut:
    """Rows of two loads under all protocols, all off by `error` W."""
    times = pd.date_range("2026-11-14", periods=20, freq="3s", tz="UTC")
    rows = pd.DataFrame({"time": times, "node": "a", "workload": np.repeat([load, "vm"], 10), "component": "package"})
    rows = rows.assign(measured=50.0, predicted=50.0 + error, mean=60.0)
    names = ("shuffled", "blocked", "leave-one-workload-out", "forward")
    return HeldOut.of(pd.concat([rows.assign(protocol=name) for name in names], ignore_index=True))


def evaluation(spec: RunSpec, errors: dict[str, float], load: str = "cpu") -> Evaluation:
    training = TrainingSummary(
        output_type="AbsPower",
        trivial_features={"package": "bpf_cpu_time_ms"},
        rows=20,
        workloads={load: 10, "vm": 10},
        evaluation=HoldingOut(folds=5, gap_windows=4, window_seconds=3.0),
        notes=["core is 0 W in every row: there is nothing to learn of it"],
    )
    models = {model(name): judge(held_out(error, load), spec, training) for name, error in errors.items()}
    trivial = {"mean": all_figures(held_out(0, load), 1.0, "mean")}
    missing = {model("Broken"): "Broken cannot learn package: a | b."}
    return Evaluation(models=models, baselines={FAMILY: trivial}, missing=missing)


def trained_otherwise(verdict: ModelVerdict, **about: object) -> ModelVerdict:
    return verdict.model_copy(update={"training": verdict.training.model_copy(update=about)})


@pytest.fixture
def spec() -> RunSpec:
    return RunSpec.model_validate({"pipeline": "mine", **WINDOW})


def written(tmp_path: Path, spec: RunSpec, found: Evaluation) -> list[str]:
    none = Isolation(asked="none", isolator="none", why="no DynPower", attribution="")
    write_report(tmp_path / "README.md", spec, found, none, "mine/run")
    return (tmp_path / "README.md").read_text().splitlines()


def test_the_best_comes_first_and_a_model_that_is_worse_than_the_mean_comes_after_it(
    tmp_path: Path, spec: RunSpec
) -> None:
    found = evaluation(spec, {"Poor": 12.0, "Good": -1.0, "Fair": 4.0})
    (table,) = tables(found)
    assert [row.trainer for row in table.rows] == ["Good", "Fair", "the mean power", "Poor"]
    assert best_models(found) == [model("Good")]
    lines = written(tmp_path, spec, found)
    assert [line.split(" | ")[0] for line in lines if " | BPFOnly | " in line] == [
        "| Good",
        "| Fair",
        "| *the mean power*",
        "| Poor",
    ]
    good = next(line for line in lines if line.startswith("| Good |"))
    assert "| 1.00 (2.0 %) | 1.00 | 1.00 | 1.00 (cpu) |" in good  # forward, RMSE, P95, worst load
    assert "| -2.0 % (cpu) |" in good  # 50 W for 30 s, said to be 49


def test_of_many_models_eight_are_seen_at_once_and_none_is_left_out(tmp_path: Path, spec: RunSpec) -> None:
    lines = written(tmp_path, spec, evaluation(spec, {f"T{number:02}": 0.1 * number for number in range(20)}))
    opened = lines.index("<details><summary>12 more</summary>")
    names = [line.split(" | ")[0].strip("| ") for line in lines if " | BPFOnly | " in line]
    assert sorted(names) == ["*the mean power*", *(f"T{number:02}" for number in range(20))]
    assert [name for name in names if lines.index(next(x for x in lines if x.startswith(f"| {name} |"))) < opened][
        :8
    ] == [f"T{number:02}" for number in range(8)]


def test_what_is_refused_or_not_trained_is_named_with_its_reason(tmp_path: Path, spec: RunSpec) -> None:
    lines = written(tmp_path, spec, evaluation(spec, {"Poor": 12.0, "Lost": 120.0, "Good": 1.0}))
    assert f"| {FAMILY}/Poor | 12.00 | 24.0 | blocked 12.0 W and 24.0 %, above 10 W and 20 % |" in lines
    assert f"| {FAMILY}/Lost | 120.00 | 240.0 | blocked 120 W, above 100 |" in lines
    assert f"| {FAMILY}/Good | 1.00 | 2.0 |" in lines
    assert rf"| {FAMILY}/Broken | Broken cannot learn package: a \| b. |" in lines
    assert "3 models were trained, 1 could not be; 1 pass the gate and are published." in lines
    assert "**Note:** core is 0 W in every row: there is nothing to learn of it." in lines


def test_a_load_of_any_name_breaks_no_table(tmp_path: Path, spec: RunSpec) -> None:
    lines = written(tmp_path, spec, evaluation(spec, {"Good": 1.0}, load="a|b"))
    assert r"1.00 (a\|b)" in next(line for line in lines if line.startswith("| Good |"))


def test_in_short_a_trivial_model_stands_once_beside_the_best_as_it_is_on_its_group(
    tmp_path: Path, spec: RunSpec
) -> None:
    found = evaluation(spec, {"Good": 1.0})
    training = found.training_of(FAMILY)
    for group in ("Basic", "CounterOnly"):  # 10 W off on both of them
        found.models[model("Good", group=group)] = judge(held_out(3.0), spec, training)
        found.baselines[replace(FAMILY, group=group)] = found.baselines[FAMILY]
    found.baselines[FAMILY] = {"mean": all_figures(held_out(7.0), 1.0, "predicted")}
    (short,) = [line for line in written(tmp_path, spec, found) if line.startswith("- **AbsPower of rapl-sysfs**")]
    assert short.endswith("package 1.00 W (2.0 %) under unseen load (*the mean power* 7.00 W (14.0 %))")


def test_a_line_in_a_feature_is_called_by_what_stands_for_the_load_and_by_its_groups(
    tmp_path: Path, spec: RunSpec
) -> None:
    found = evaluation(spec, {"Good": 1.0})
    (good,) = found.models.values()
    line, other = (all_figures(held_out(error), 1.0) for error in (5.0, 6.0))
    features = {"BPFOnly": "bpf_cpu_time_ms", "BPFIRQ": "bpf_cpu_time_ms", "CounterOnly": "cpu_instructions"}
    found.models.clear()
    found.baselines.clear()
    for group, feature in features.items():
        key = model("Good", output_type="DynPower", group=group)
        found.models[key] = trained_otherwise(good, output_type="DynPower", trivial_features={"package": feature})
        found.baselines[key.family] = {"cpu_time": other if group == "CounterOnly" else line}
    lines = written(tmp_path, spec, found)
    trivial = [line.split(" | ")[:2] for line in lines if line.startswith("| *")]
    assert trivial == [
        ["| *linear in CPU time*", "BPFOnly, BPFIRQ"],
        ["| *linear in cpu_instructions*", "CounterOnly"],
    ]


def test_where_no_window_has_two_containers_the_report_does_not_say_that_they_add_up(
    tmp_path: Path, spec: RunSpec
) -> None:
    found = evaluation(spec, {"Trees": 1.0, "Curve": 2.0})
    measured = {"package": 4.0, "dram": 0.5}
    for (key, verdict), errors in zip(list(found.models.items()), (None, measured), strict=True):
        found.models[key] = trained_otherwise(verdict, attribution="proportional", additivity_error=errors)
    lines = written(tmp_path, spec, found)
    assert f"| {FAMILY}/Trees | not known | proportional |" in lines
    assert f"| {FAMILY}/Curve | 4.00 | proportional |" in lines
    assert any("Where no window has two containers" in line for line in lines)


def test_without_a_model_there_is_a_report_without_pictures(tmp_path: Path, spec: RunSpec) -> None:
    found = Evaluation(models={}, baselines={}, missing={model("Broken"): "It cannot learn."})
    lines = written(tmp_path, spec, found)
    assert "0 models were trained, 1 could not be; 0 pass the gate and are published." in lines
    assert not [line for line in lines if ".png" in line]

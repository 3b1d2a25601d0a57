"""Training without choices takes all that the data can serve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from simulated import write_node

from kepler_train.catalog import catalog
from kepler_train.cli.training import everything
from kepler_train.runs.everything import every_trainer, of_the_data

NOTHING = dict.fromkeys(("output_types", "thirdparty_metrics", "abs_trainers", "dyn_trainers"), "") | {
    "pipeline": "lab",
    "energy_sources": "",
    "feature_groups": "",
}


def test_every_trainer_but_the_one_that_chooses_is_taken() -> None:
    absolute, dynamic = every_trainer("AbsPower"), every_trainer("DynPower")
    assert set(absolute) == set(catalog().trainers) - {"auto"}
    assert set(absolute) - set(dynamic) == {"LaggedForestTrainer"}  # containers come and go


@pytest.mark.parametrize("word", ["", "all", "default"])
def test_all_and_default_are_understood(word: str) -> None:
    options = NOTHING | dict.fromkeys(("abs_trainers", "dyn_trainers", "feature_groups", "energy_sources"), word)
    spec, left_open = everything(options)
    assert spec.abs_trainers == every_trainer("AbsPower")
    assert left_open == ["energy_sources", "feature_groups"]
    assert set(spec.energy_sources) == set(catalog().energy_sources)


def test_what_is_named_is_taken_as_it_is() -> None:
    named = {"abs_trainers": "LinearRegressionTrainer", "feature_groups": "Basic", "output_types": "AbsPower"}
    spec, left_open = everything(NOTHING | named)
    assert (spec.abs_trainers, spec.feature_groups) == (["LinearRegressionTrainer"], ["Basic"])
    assert left_open == ["energy_sources"]


@pytest.mark.parametrize(
    ("dialect", "groups"), [("legacy", {"BPFOnly", "Basic", "CounterOnly"}), ("current", {"CPUTime"})]
)
def test_groups_and_sources_are_those_of_the_data(dialect: str, groups: set[str], tmp_path: Path) -> None:
    samples = write_node(tmp_path, hours=0.5, dialect=dialect) / "kepler_query"
    spec, left_open = everything(NOTHING)
    found = of_the_data(spec, [samples], left_open)
    assert found.energy_sources == ["rapl-sysfs"]
    assert groups <= set(found.feature_groups)
    assert ("CPUTime" in found.feature_groups) is (dialect == "current")


def test_train_counts_its_models(kepler_train: Callable[..., tuple[int, list[str], list[str]]], tmp_path: Path) -> None:
    write_node(tmp_path, hours=0.5)
    options = ["-ot", "AbsPower", "--abs-trainers", "LinearRegressionTrainer", "--node-type", "0", "--folds", "2"]
    code, lines, errors = kepler_train("train", "-p", "lab", *options, "--gate-mae", "50")
    assert (code, errors) == (0, [])
    groups = next(line for line in lines if line.startswith("train: feature groups of the data")).count(",") + 1
    assert "train: energy sources of the data: rapl-sysfs" in lines
    counted = [line for line in lines if line.startswith("train: model ")]
    assert len(counted) == groups > 3
    assert counted[0] == f"train: model 1 of {groups}"
    assert counted[-1].startswith(f"train: model {groups} of {groups}, about ")
    assert len(list((tmp_path / "models/lab").glob("*/*/*/*.zip"))) == groups

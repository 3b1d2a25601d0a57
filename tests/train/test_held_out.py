"""Predictions of rows that a model had not seen, and of trivial models beside it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from fitting import FEATURES, node_rows

from kepler_train.errors import DataError, UserError
from kepler_train.models import ComponentModel, LinearModel
from kepler_train.train.held_out import held_out
from kepler_train.train.trainers.linear import LinearRegressionTrainer
from kepler_train.train.training_set import TrainingSet, training_sets


def sets(frame: pd.DataFrame, *components: str, intercept: bool = True) -> dict[str, TrainingSet]:
    columns = {name: name for name in components}
    return training_sets(frame, FEATURES, columns, "BPFOnly", intercept=intercept, seed=0)


class Recording(LinearRegressionTrainer):
    """Remembers the rows of every fit."""

    fits: ClassVar[list[tuple[str, int]]] = []

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> LinearModel:
        self.fits.append((data.component, len(data)))
        return super().fit(data, before)


def test_too_few_rows_to_hold_any_out_are_refused() -> None:
    data = node_rows(15, ["cpu"])
    with pytest.raises(DataError, match="15 rows are too few to hold out 8 parts"):
        held_out(LinearRegressionTrainer(), data, sets(data, "package"), 8)


def test_one_workload_alone_is_judged_by_time_but_not_as_an_unseen_load() -> None:
    data = node_rows(64, ["idle", "cpu"])
    found = held_out(LinearRegressionTrainer(), data, sets(data, "package"), 8).frame()
    assert found["protocol"].unique().tolist() == ["shuffled", "blocked", "forward"]


def test_every_row_is_held_out_once_by_each_protocol_and_idle_never_as_a_load() -> None:
    data = node_rows(96, ["idle", "cpu", "vm"])
    found = held_out(LinearRegressionTrainer(), data, sets(data, "package", "uncore"), 8).frame()
    counted = found.groupby(["protocol", "component"])["time"].agg(["size", "nunique"])
    for protocol, expected in (("shuffled", 96), ("blocked", 96), ("leave-one-workload-out", 64), ("forward", 28)):
        assert (counted.loc[protocol] == expected).all(axis=None)
    np.testing.assert_allclose(found["predicted"], found["measured"], atol=1e-6)  # the law is linear


def test_splits_that_are_alike_are_fitted_once_and_a_constant_component_once_in_all() -> None:
    data = node_rows(100, [f"block {number}" for number in range(1, 6)])
    Recording.fits.clear()
    found = held_out(Recording(), data, sets(data, "package", "uncore"), 5).frame()
    fits = pd.DataFrame(Recording.fits, columns=["component", "rows"])
    assert fits["component"].value_counts().to_dict() == {"package": 5 + 5 + 1, "uncore": 1}
    assert sorted(fits[fits["component"] == "package"]["rows"])[:6] == [66, 72, 72, 72, 76, 76]  # purged
    blocked, unseen = (found[found["protocol"] == name] for name in ("blocked", "leave-one-workload-out"))
    assert blocked["predicted"].tolist() == unseen["predicted"].tolist()


def test_trivial_models_stand_beside_it_on_the_same_rows() -> None:
    data = node_rows(40, ["cpu", "vm"]).assign(package=lambda own: 20 + 0.03 * own["bpf_cpu_time_ms"])
    data.loc[28:, "package"] += 9.0
    forward = held_out(LinearRegressionTrainer(), data, sets(data, "package"), 5).frame().query("protocol == 'forward'")
    assert len(forward) == 12
    inside = data["package"].iloc[:24]  # 70 % less the gap of four rows
    assert forward["mean"].tolist() == pytest.approx([inside.mean()] * 12)
    assert (forward["measured"] - forward["cpu_time"]).tolist() == pytest.approx([9.0] * 12)


def test_trivial_dynamic_power_is_nothing_without_work() -> None:
    data = node_rows(40, ["cpu", "vm"]).assign(package=lambda own: 0.03 * own["bpf_cpu_time_ms"])
    found = held_out(LinearRegressionTrainer(), data, sets(data, "package", intercept=False), 5).frame()
    assert (found["cpu_time"] / found["measured"]).tolist() == pytest.approx([1.0] * len(found))


class Broken(LinearRegressionTrainer):
    """A trainer with a fault of its own."""

    name: ClassVar[str] = "Broken"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> LinearModel:  # noqa: ARG002
        raise ZeroDivisionError("float division by zero")


def test_a_trainer_that_breaks_down_is_named_in_one_sentence() -> None:
    data = node_rows(40, ["cpu"])
    with pytest.raises(DataError, match=r"^Broken cannot learn package from \d+ rows of 2 features: ZeroDivisionError"):
        held_out(Broken(), data, sets(data, "package"), 5)


class Rising(LinearRegressionTrainer):
    """Says something that is no number, or beyond all of them."""

    def __init__(self, watts: float) -> None:
        self.watts = watts

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> LinearModel:  # noqa: ARG002
        return LinearModel(self.watts, np.zeros(2), np.ones(2))


def test_a_prediction_beyond_all_numbers_is_judged_and_one_that_is_none_fails_alone() -> None:
    data = node_rows(40, ["cpu", "vm"])
    found = held_out(Rising(float("inf")), data, sets(data, "package"), 5).frame()
    assert found["predicted"].unique().tolist() == [1e9]
    with pytest.raises(DataError, match="LinearRegressionTrainer has no number for some rows of package"):
        held_out(Rising(float("nan")), data, sets(data, "package"), 5)


def test_several_cores_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    data = node_rows(60, ["cpu", "vm", "cache"])
    one = held_out(LinearRegressionTrainer(), data, sets(data, "package"), 5).frame()
    monkeypatch.setenv("KEPLER_TRAIN_CORES", "3")
    pd.testing.assert_frame_equal(one, held_out(LinearRegressionTrainer(), data, sets(data, "package"), 5).frame())


@pytest.mark.parametrize("cores", ["0", "all", "-1", "1.5"])
def test_a_number_of_cores_that_is_none_is_refused(cores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPLER_TRAIN_CORES", cores)
    data = node_rows(60, ["cpu"])
    with pytest.raises(UserError, match="KEPLER_TRAIN_CORES"):
        held_out(LinearRegressionTrainer(), data, sets(data, "package"), 5)

"""When training goes on from an earlier model, and when it starts afresh and says why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from fitting import training_rows

from kepler_train.catalog import catalog
from kepler_train.models import Fitted, LinearModel, PowerModel
from kepler_train.models.metadata import Training
from kepler_train.train.checkpoints import go_on
from kepler_train.train.trainer import trainer

SGD, XGBOOST = "SGDRegressorTrainer", "XgboostFitTrainer"
END = datetime(2026, 11, 14, 1, tzinfo=UTC)
LATER = END + timedelta(minutes=1)
BOTH = {"package": ["a", "b"], "dram": ["a", "b"]}


def linear(*features: str) -> Fitted:
    return Fitted(list(features), LinearModel(1.0, np.ones(len(features)), np.ones(len(features))))


def made(name: str, **more: Any) -> Training:
    window = ["2026-11-14T00:00:00+00:00", END.isoformat()]
    return Training(**{"window": window, "settings": catalog().trainer(name).settings} | more)


MODEL = PowerModel(SGD, 3, {"package": linear("a", "b"), "dram": linear("a", "b")})


def test_training_goes_on_for_every_component_with_the_same_features() -> None:
    found, sentence = go_on(MODEL, made(SGD), SGD, 3, BOTH, LATER)
    assert found == {name: fitted.model for name, fitted in MODEL.components.items()}
    assert sentence == "training goes on from SGDRegressorTrainer_3 for package, dram"


def test_a_component_whose_features_differ_starts_afresh_alone() -> None:
    now = {"package": ["a", "b"], "dram": ["a"], "core": ["a", "b"]}
    found, sentence = go_on(MODEL, made(SGD), SGD, 3, now, LATER)
    assert list(found) == ["package"]
    assert "goes on from SGDRegressorTrainer_3 for package;" in sentence
    assert "dram starts afresh, because its features were a, b" in sentence
    assert "core starts afresh, because it is new" in sentence


@pytest.mark.parametrize(
    ("metadata", "name", "node_type", "start", "why"),
    [
        (made(SGD), SGD, 4, LATER, "that is of node type 3 and not 4"),
        (made(SGD), XGBOOST, 3, LATER, "that is of SGDRegressorTrainer"),
        (made(SGD), SGD, 3, END, "it has seen rows that are held out now"),
        (made(SGD), SGD, 3, END - timedelta(days=9), "it has seen rows that are held out now"),  # or may have
        (made(SGD, window=[]), SGD, 3, LATER, "it has seen rows that are held out now"),
        (made(SGD, settings={"epochs": 1}), SGD, 3, LATER, "it was made with other settings"),
    ],
)
def test_training_starts_afresh_and_says_why(
    metadata: Training, name: str, node_type: int, start: datetime, why: str
) -> None:
    found, sentence = go_on(MODEL, metadata, name, node_type, BOTH, start)
    assert found == {}
    assert sentence == f"training starts afresh and not from SGDRegressorTrainer_3, because {why}"


def test_boosting_that_went_on_often_enough_starts_afresh() -> None:
    settings = catalog().trainer(XGBOOST).settings
    data = training_rows(np.arange(40.0)[:, None], np.arange(40.0), features=["a"])
    booster = trainer(XGBOOST).fit(data)
    for grown in (True, False):
        before = PowerModel(XGBOOST, 0, {"package": Fitted.select(["a"], booster)})
        found, sentence = go_on(before, made(XGBOOST), XGBOOST, 0, {"package": ["a"]}, LATER)
        assert bool(found) is grown
        while grown and booster.booster.num_boosted_rounds() < settings["max_trees"]:
            booster = trainer(XGBOOST).fit(data, booster)
    assert sentence == "package starts afresh, because it has 1000 trees already, and a model may have 1000"

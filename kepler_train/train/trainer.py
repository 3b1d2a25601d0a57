"""What a trainer is, and where each one lives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, ClassVar, Protocol

from kepler_train.errors import UserError, unknown_name

if TYPE_CHECKING:  # the names are asked for where no model is fitted
    from kepler_train.models import ComponentModel, NarrowModel
    from kepler_train.train.training_set import TrainingSet

# By name, with the module that is imported when the trainer is used.
TRAINERS = {
    "LinearRegressionTrainer": "kepler_train.train.linear",
    "SGDRegressorTrainer": "kepler_train.train.sgd",
    "PolynomialRegressionTrainer": "kepler_train.train.polynomial",
    "KNeighborsRegressorTrainer": "kepler_train.train.neighbors",
    "SVRRegressorTrainer": "kepler_train.train.support_vectors",
    "GradientBoostingRegressorTrainer": "kepler_train.train.gradient_boosting",
    "LogarithmicRegressionTrainer": "kepler_train.train.logarithmic",
    "LogisticRegressionTrainer": "kepler_train.train.logistic",
    "ExponentialRegressionTrainer": "kepler_train.train.exponential",
    "XgboostFitTrainer": "kepler_train.train.xgboost",
}


class Trainer(Protocol):
    """Fits a model of one component."""

    name: ClassVar[str]
    # Whether DynPower predictions of containers add up to the prediction for their node by construction.
    additive: ClassVar[bool]
    # Whether `fit` goes on from a model that it is given, rather than starting afresh.
    continues: ClassVar[bool]
    # How many earlier windows it wants to see: their features are columns too, `cpu_cycles@-1` and so on.
    lags: ClassVar[int]

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> ComponentModel | NarrowModel:
        """Learn watts from features, going on from the model `before` where the method can."""


def check_trainer(name: str) -> None:
    """Refuse a trainer that this version does not have."""
    if name not in TRAINERS:
        raise UserError(f"This version cannot train by that name. {unknown_name('trainer', name, TRAINERS)}")


def trainer(name: str) -> Trainer:
    """The trainer of that name."""
    check_trainer(name)
    found: Trainer = getattr(importlib.import_module(TRAINERS[name]), name)()
    return found

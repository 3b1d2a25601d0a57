"""What a trainer is, and where each one lives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, ClassVar, Protocol

from kepler_train.catalog.own_trainers import own_trainers
from kepler_train.errors import UserError, unknown_name
from kepler_train.train.own import load_own

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
    "MonotoneBoostingTrainer": "kepler_train.train.monotone_boosting",
    "NonNegativePolynomialTrainer": "kepler_train.train.non_negative_polynomial",
    "PiecewiseLinearTrainer": "kepler_train.train.piecewise_linear",
    "ExtraTreesTrainer": "kepler_train.train.extra_trees",
    "TrendForestTrainer": "kepler_train.train.trend_forest",
    "ResidualForestTrainer": "kepler_train.train.residual_forest",
    "LaggedForestTrainer": "kepler_train.train.lagged_forest",
    "auto": "kepler_train.train.auto",
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
    """Refuse a trainer that is neither of this version nor of the user, or that cannot be used, before any work."""
    if name not in TRAINERS:
        trainer(name)


def trainer(name: str) -> Trainer:
    """The trainer of that name."""
    if name in TRAINERS:
        found: Trainer = getattr(importlib.import_module(TRAINERS[name]), name)()
        return found
    own = own_trainers()
    if name not in own:
        known = unknown_name("trainer", name, [*TRAINERS, *own])
        raise UserError(f"This version cannot train by that name. {known}")
    return load_own(name, own[name])

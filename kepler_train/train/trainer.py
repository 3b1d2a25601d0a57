"""What a trainer is, and where each one lives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, ClassVar, Protocol

from kepler_train.catalog.own_trainers import own_trainers
from kepler_train.errors import UserError, unknown_name
from kepler_train.train.own import load_own

if TYPE_CHECKING:  # the names are asked for where no model is fitted
    from kepler_train.models import ComponentModel, SubsetModel
    from kepler_train.train.training_set import TrainingSet

# By name, with the module that is imported when the trainer is used.
TRAINERS = {
    "LinearRegressionTrainer": "kepler_train.train.trainers.linear",
    "SGDRegressorTrainer": "kepler_train.train.trainers.sgd",
    "PolynomialRegressionTrainer": "kepler_train.train.trainers.polynomial",
    "KNeighborsRegressorTrainer": "kepler_train.train.trainers.neighbors",
    "SVRRegressorTrainer": "kepler_train.train.trainers.support_vectors",
    "GradientBoostingRegressorTrainer": "kepler_train.train.trainers.gradient_boosting",
    "LogarithmicRegressionTrainer": "kepler_train.train.trainers.logarithmic",
    "LogisticRegressionTrainer": "kepler_train.train.trainers.logistic",
    "ExponentialRegressionTrainer": "kepler_train.train.trainers.exponential",
    "XgboostFitTrainer": "kepler_train.train.trainers.xgboost",
    "MonotoneBoostingTrainer": "kepler_train.train.trainers.monotone_boosting",
    "NonNegativePolynomialTrainer": "kepler_train.train.trainers.non_negative_polynomial",
    "PiecewiseLinearTrainer": "kepler_train.train.trainers.piecewise_linear",
    "ExtraTreesTrainer": "kepler_train.train.trainers.extra_trees",
    "TrendForestTrainer": "kepler_train.train.trainers.trend_forest",
    "ResidualForestTrainer": "kepler_train.train.trainers.residual_forest",
    "LaggedForestTrainer": "kepler_train.train.trainers.lagged_forest",
    "auto": "kepler_train.train.trainers.auto",
}


class Trainer(Protocol):
    """Fits a model of one component."""

    name: ClassVar[str]
    # Whether DynPower predictions of containers add up to the prediction for their node by construction.
    additive: ClassVar[bool] = False
    # Whether `fit` goes on from a model that it is given, rather than starting afresh.
    continues: ClassVar[bool] = False
    # How many earlier windows it wants to see: their features are columns too, `cpu_cycles@-1` and so on.
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> ComponentModel | SubsetModel:
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

"""What a trainer is, and where each one lives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, ClassVar, Protocol

from kepler_train.errors import UserError, unknown_name

if TYPE_CHECKING:  # the names are asked for where no model is fitted
    from kepler_train.models import ComponentModel, Matrix, Watts
    from kepler_train.models.artifact import ModelClass

# By name, with the module that is imported when the trainer is used.
TRAINERS = {
    "LinearRegressionTrainer": "kepler_train.train.linear",
    "XgboostFitTrainer": "kepler_train.train.xgboost",
}


class Trainer(Protocol):
    """Fits a model of one component."""

    name: ClassVar[str]
    model_class: ClassVar[ModelClass]
    # Whether DynPower predictions of containers add up to the prediction for their node by construction.
    additive: ClassVar[bool]

    def fit(self, X: Matrix, y: Watts, *, intercept: bool, seed: int) -> ComponentModel:
        """Learn watts from features; without intercept, no work is 0 W."""


def check_trainer(name: str) -> None:
    """Refuse a trainer that this version does not have."""
    if name not in TRAINERS:
        raise UserError(f"This version cannot train by that name. {unknown_name('trainer', name, TRAINERS)}")


def trainer(name: str) -> Trainer:
    """The trainer of that name."""
    check_trainer(name)
    found: Trainer = getattr(importlib.import_module(TRAINERS[name]), name)()
    return found

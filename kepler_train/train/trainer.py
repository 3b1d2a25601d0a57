"""What a trainer is, and how it is found by its name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, ClassVar, Protocol

from kepler_train.catalog import catalog
from kepler_train.catalog.user_trainers import trainer_names, user_trainers
from kepler_train.errors import UserError, unknown_name
from kepler_train.train.user_trainer import load_user_trainer

if TYPE_CHECKING:  # the names are asked for where no model is fitted
    from kepler_train.models import ComponentModel, SubsetModel
    from kepler_train.train.training_set import TrainingSet


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


def house_trainers() -> list[str]:
    """Return the trainers of this version."""
    return list(catalog().trainers)


def check_trainer(name: str) -> None:
    """Refuse a trainer that is neither of this version nor of the user, or that cannot be used, before any work."""
    if name not in house_trainers():
        trainer(name)


def trainer(name: str) -> Trainer:
    """Return the trainer of that name; its module is imported now."""
    if name in house_trainers():
        module = importlib.import_module(f"kepler_train.train.trainers.{catalog().trainer(name).module}")
        made: Trainer = getattr(module, name)()
        return made
    if name not in user_trainers():
        known = unknown_name("trainer", name, trainer_names())
        raise UserError(f"This version cannot train by that name. {known}")
    return load_user_trainer(name, user_trainers()[name])

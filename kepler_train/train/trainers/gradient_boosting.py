"""Shallow boosted trees (W): at most three features interact in a tree, which overfits less than deeper ones."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.methods.boosting import boost
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


class GradientBoostingRegressorTrainer(Trainer):
    """Gradient boosting (Friedman 2001) with the settings of the catalog, leaves without regularisation.

    Splits are searched among bins of values: a fifteenth of the time of all values, at the same error.
    """

    name = "GradientBoostingRegressorTrainer"
    continues = True

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Return trees over raw features, after those of `before`."""
        return boost(data, catalog().trainer(self.name).settings, before)

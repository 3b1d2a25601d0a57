"""Boosted trees (W): follow any curve inside the data, and stay constant beyond them."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.methods.boosting import boost
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


class XgboostFitTrainer(Trainer):
    """XGBoost (Chen and Guestrin 2016) with the settings of the catalog."""

    name = "XgboostFitTrainer"
    continues = True

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Return trees over raw features, after those of `before`."""
        return boost(data, catalog().trainer(self.name).settings, before)

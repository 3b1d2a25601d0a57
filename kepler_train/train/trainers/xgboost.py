"""Boosted trees: follows any curve inside the data, and stays flat beyond them."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.boosting import boost
from kepler_train.train.training_set import TrainingSet


class XgboostFitTrainer:
    """XGBoost (Chen and Guestrin 2016) with the settings of the catalog."""

    name: ClassVar[str] = "XgboostFitTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Learn watts from raw features, with more trees after those of `before`."""
        return boost(data, catalog().trainer(self.name).settings, before)

"""Shallow boosted trees: at most three features meet in one tree, which overfits less than deeper ones."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.boosting import boost
from kepler_train.train.training_set import TrainingSet


class GradientBoostingRegressorTrainer:
    """Gradient boosting (Friedman 2001) with the settings of the catalog, leaves without regularisation.

    Splits are sought among bins of values: a fifteenth of the time of all values, at the same error.
    """

    name: ClassVar[str] = "GradientBoostingRegressorTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Learn watts from raw features, with more trees after those of `before`."""
        return boost(data, catalog().trainer(self.name).settings, before)

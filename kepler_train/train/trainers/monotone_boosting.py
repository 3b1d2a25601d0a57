"""Boosted trees that never fall when a feature rises: more work never costs fewer watts, seen in the data or not."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.boosting import boost
from kepler_train.train.training_set import TrainingSet


class MonotoneBoostingTrainer:
    """XGBoost with the settings of the catalog, every feature constrained to rise.

    Squared error: for absolute error XGBoost sets leaves anew after a tree is grown, which breaks the constraint.
    """

    name: ClassVar[str] = "MonotoneBoostingTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Learn watts from raw features, with more trees after those of `before`."""
        constraints = {"monotone_constraints": (1,) * len(data.features)}
        return boost(data, catalog().trainer(self.name).settings | constraints, before)

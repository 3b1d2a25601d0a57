"""Boosted trees (W) that never fall when a feature rises: more work never costs fewer watts."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.methods.boosting import boost
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


class MonotoneBoostingTrainer(Trainer):
    """XGBoost with the settings of the catalog, every feature constrained to rise.

    Squared error: for absolute error XGBoost sets leaves anew after a tree is grown, which breaks the constraint.
    """

    name = "MonotoneBoostingTrainer"
    continues = True

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Return trees over raw features, after those of `before`."""
        constraints = {"monotone_constraints": (1,) * len(data.features)}
        return boost(data, catalog().trainer(self.name).settings | constraints, before)

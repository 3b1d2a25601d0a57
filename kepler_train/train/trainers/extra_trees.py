"""Randomised trees alone: the mean of like rows, flat beyond the data."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.randomised_trees import trees_of_power
from kepler_train.train.training_set import TrainingSet


class ExtraTreesTrainer:
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) with the settings of the catalog."""

    name: ClassVar[str] = "ExtraTreesTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:  # noqa: ARG002
        """Learn watts from raw features."""
        return trees_of_power(data, catalog().trainer(self.name).settings)

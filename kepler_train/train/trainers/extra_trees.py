"""Mean of randomised trees (W): the mean of similar rows, constant beyond the data."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.train.methods.randomised_trees import forest_of_power
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


class ExtraTreesTrainer(Trainer):
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) with the settings of the catalog."""

    name = "ExtraTreesTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:
        """Return trees over raw features."""
        return forest_of_power(data, catalog().trainer(self.name).settings)

"""Support vector regression (W): a smooth surface that ignores errors below epsilon, constant far from the data."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, EstimatorModel
from kepler_train.train.methods.subsample import subsample
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


class SVRRegressorTrainer(Trainer):
    """½‖w‖² + C·Σ max(0, |error| − epsilon) with a Gaussian kernel over features scaled by their largest value.

    A row of a subsample stands for several, so its C is as many times as large: the sum is that of all rows.
    """

    name = "SVRRegressorTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> EstimatorModel:
        """Return the surface fitted to the rows, or to a random part of many."""
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import MaxAbsScaler
        from sklearn.svm import SVR

        settings = catalog().trainer(self.name).settings
        rows = subsample(data, settings["max_rows"])
        svr = SVR(C=settings["C"] * len(data) / len(rows), epsilon=settings["epsilon"])
        return EstimatorModel(Pipeline([("scale", MaxAbsScaler()), ("surface", svr)]).fit(rows.X, rows.y))

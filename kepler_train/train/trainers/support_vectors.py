"""Support vector regression: a smooth surface that ignores errors below epsilon, and falls back to flat far away."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.estimator import EstimatorModel
from kepler_train.train.subsample import subsample
from kepler_train.train.training_set import TrainingSet


class SVRRegressorTrainer:
    """½‖w‖² + C·Σ max(0, |error| − epsilon) with a Gaussian kernel over features scaled by their largest value.

    A row of a part stands for several, so its C is as many times as large: the sum is that of all rows.
    """

    name: ClassVar[str] = "SVRRegressorTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> EstimatorModel:  # noqa: ARG002
        """Learn watts from the rows, or of many from a part of them."""
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import MaxAbsScaler
        from sklearn.svm import SVR

        settings = catalog().trainer(self.name).settings
        rows = subsample(data, settings["max_rows"])
        surface = SVR(C=settings["C"] * len(data) / len(rows), epsilon=settings["epsilon"])
        return EstimatorModel(Pipeline([("scale", MaxAbsScaler()), ("surface", surface)]).fit(rows.X, rows.y))

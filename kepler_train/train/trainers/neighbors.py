"""The mean power of the nearest known rows: right where the data are dense, and never beyond what was measured."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.component import Watts
from kepler_train.models.estimator import EstimatorModel
from kepler_train.train.subsample import subsample
from kepler_train.train.training_set import TrainingSet


class KNeighborsRegressorTrainer:
    """Mean of the k nearest rows, by Euclidean distance of features scaled by their largest value."""

    name: ClassVar[str] = "KNeighborsRegressorTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> EstimatorModel:  # noqa: ARG002
        """Keep the rows, or of many a part of them."""
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import MaxAbsScaler

        settings = catalog().trainer(self.name).settings
        rows = subsample(data, settings["max_rows"])
        nearest = KNeighborsRegressor(min(settings["n_neighbors"], len(rows)), algorithm="kd_tree")
        scale = MaxAbsScaler().fit(rows.X)
        # Which of equally near rows are the nearest must not depend on who looks, so none are: they are told apart by
        # a hundred-thousandth of the range.
        apart = np.random.default_rng(data.seed).uniform(-1e-5, 1e-5, rows.X.shape)
        nearest.fit(scale.transform(rows.X) + apart, _mean_of_equal(rows))
        return EstimatorModel(Pipeline([("scale", scale), ("nearest", nearest)]))


def _mean_of_equal(rows: TrainingSet) -> Watts:
    """Power (W) by row, for rows with equal features their mean: it does not matter then which are the nearest."""
    if len(np.unique(rows.X[:, rows.main])) == len(rows):  # which is seen in a tenth of the time
        return rows.y
    _, same, count = np.unique(rows.X, axis=0, return_inverse=True, return_counts=True)
    return np.asarray((np.bincount(same, rows.y) / count)[same])

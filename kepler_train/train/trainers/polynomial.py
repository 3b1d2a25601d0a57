"""Linear in the features, their squares and their products: bends where the data bend, and runs away beyond them."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.estimator import EstimatorModel
from kepler_train.train.training_set import TrainingSet


class PolynomialRegressionTrainer:
    """Least squares in all products of up to two features, scaled by their largest value; below 0 W is 0 W."""

    name: ClassVar[str] = "PolynomialRegressionTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> EstimatorModel:  # noqa: ARG002
        """Learn watts from products of features; without intercept no work is 0 W."""
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures

        products = PolynomialFeatures(catalog().trainer(self.name).settings["degree"], include_bias=False)
        line = LinearRegression(fit_intercept=data.intercept)
        steps = [("scale", MaxAbsScaler()), ("products", products), ("linear", line)]
        return EstimatorModel(Pipeline(steps).fit(data.X, data.y))

"""Linear in the features, their squares and their products (W): bends with the data, and diverges beyond them."""

from __future__ import annotations

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, EstimatorModel
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet


class PolynomialRegressionTrainer(Trainer):
    """Least squares in all products of up to two features, scaled by their largest value; clipped at 0 W."""

    name = "PolynomialRegressionTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> EstimatorModel:
        """Return the polynomial; without intercept, no work is 0 W."""
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures

        products = PolynomialFeatures(catalog().trainer(self.name).settings["degree"], include_bias=False)
        regression = LinearRegression(fit_intercept=data.intercept)
        steps = [("scale", MaxAbsScaler()), ("products", products), ("linear", regression)]
        return EstimatorModel(Pipeline(steps).fit(data.X, data.y))

"""Boosted trees: follows any curve inside the data, and stays flat beyond them."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import Matrix, TreesModel, Watts
from kepler_train.models.artifact import ModelClass
from kepler_train.models.trees import THREADS


class XgboostFitTrainer:
    """XGBoost with the settings of the catalog."""

    name: ClassVar[str] = "XgboostFitTrainer"
    model_class: ClassVar[ModelClass] = "xgboost"
    additive: ClassVar[bool] = False

    def fit(self, X: Matrix, y: Watts, *, intercept: bool, seed: int) -> TreesModel:  # noqa: ARG002
        """Learn watts from raw features; trees need no intercept of their own."""
        import xgboost

        settings = catalog().trainer(self.name).settings
        booster = xgboost.train(
            {"learning_rate": settings["learning_rate"], "tree_method": "hist", "seed": seed, "nthread": THREADS},
            xgboost.QuantileDMatrix(X, y, nthread=THREADS),
            num_boost_round=settings["n_estimators"],
        )
        return TreesModel(booster)

"""Boosted trees: follows any curve inside the data, and stays flat beyond them."""

from __future__ import annotations

from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, TreesModel
from kepler_train.models.trees import THREADS
from kepler_train.train.training_set import TrainingSet


class XgboostFitTrainer:
    """XGBoost with the settings of the catalog."""

    name: ClassVar[str] = "XgboostFitTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TreesModel:  # noqa: ARG002
        """Learn watts from raw features; trees need no intercept of their own."""
        import xgboost

        settings = catalog().trainer(self.name).settings
        booster = xgboost.train(
            {"learning_rate": settings["learning_rate"], "tree_method": "hist", "seed": data.seed, "nthread": THREADS},
            xgboost.QuantileDMatrix(data.X, data.y, nthread=THREADS),
            num_boost_round=settings["n_estimators"],
        )
        return TreesModel(booster)

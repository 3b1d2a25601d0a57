"""Boosted trees by histograms (XGBoost): each tree is fitted to the residuals (W) of the ones before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kepler_train.models import ComponentModel, Matrix, TreesModel
from kepler_train.models.boosters import THREADS
from kepler_train.train.methods.memoize import memoize_last
from kepler_train.train.training_set import TrainingSet

if TYPE_CHECKING:
    import xgboost

# Settings of how many trees there are; the others are parameters of XGBoost.
_COUNTS = ("n_estimators", "max_trees")


def boost(data: TrainingSet, settings: Mapping[str, Any], before: ComponentModel | None) -> TreesModel:
    """Return `n_estimators` trees, after those of `before` where it is given."""
    import xgboost

    parameters = {name: value for name, value in settings.items() if name not in _COUNTS}
    rows = _binned(data.X, settings["max_bin"])
    rows.set_label(data.y)
    booster = xgboost.Booster(
        parameters | {"tree_method": "hist", "seed": data.seed, "nthread": THREADS},
        [rows],
        before.booster if isinstance(before, TreesModel) else None,
    )
    # xgboost.train calls a list of callbacks after every tree, which takes a tenth of the time of small ones.
    first = booster.num_boosted_rounds()
    for number in range(first, first + settings["n_estimators"]):
        booster.update(rows, number)
    return TreesModel(booster)


@memoize_last
def _binned(X: Matrix, bins: int) -> xgboost.QuantileDMatrix:
    """Return the features in bins, which all components of a model share."""
    import xgboost

    return xgboost.QuantileDMatrix(X, max_bin=bins, nthread=THREADS)

"""Randomised trees (W) inside the data, and straight lines beyond, where trees alone stay constant."""

from __future__ import annotations

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.ensemble import Member, SumEnsemble
from kepler_train.models.ramps import RampModel
from kepler_train.train.methods.randomised_trees import forest_of_power
from kepler_train.train.methods.scaling import max_scale
from kepler_train.train.trainer import Trainer
from kepler_train.train.trainers.piecewise_linear import fit_piecewise_linear
from kepler_train.train.training_set import TrainingSet


class TrendForestTrainer(Trainer):
    """power(x) = trees(x) + slope · (x − largest x seen) where x is beyond it.

    The slope is that of the last segment of PiecewiseLinearTrainer: power that no longer rises with load does not
    begin to rise again beyond the data.
    """

    name = "TrendForestTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> SumEnsemble:
        """Return the sum of trees over raw features and the trend."""
        features = len(data.features)
        trees = forest_of_power(data, catalog().trainer(self.name).settings)
        return SumEnsemble([Member.of(trees, features), Member.of(_trend(data), features)])


def _trend(data: TrainingSet) -> RampModel:
    """Return what the last segment of each feature adds above its largest value: 0 W inside the data."""
    model, scale = fit_piecewise_linear(data), max_scale(data.X)
    last = [
        (model.ramps[number], weight)
        for (number, *others), weight in zip(model.terms, model.weight, strict=True)
        if not others and model.ramps[number].high > scale[model.ramps[number].column]
    ]
    return RampModel(
        0.0,
        [ramp._replace(low=scale[ramp.column]) for ramp, _ in last],
        [(number,) for number in range(len(last))],
        np.array([weight for _, weight in last], dtype=np.float64),
    )

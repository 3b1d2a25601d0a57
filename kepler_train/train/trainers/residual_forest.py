"""Piecewise linear course of power with load (W), plus randomised trees fitted to its residuals."""

from __future__ import annotations

from dataclasses import replace

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.ensemble import Member, SumEnsemble
from kepler_train.train.methods.randomised_trees import randomised_trees
from kepler_train.train.trainer import Trainer
from kepler_train.train.trainers.piecewise_linear import fit_piecewise_linear
from kepler_train.train.training_set import TrainingSet


class ResidualForestTrainer(Trainer):
    """power(x) = line(x) + trees(x), the trees fitted to y − line(x); clipped at 0 W."""

    name = "ResidualForestTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> SumEnsemble:
        """Return the sum of the piecewise linear model and trees, both over raw features."""
        settings, features = catalog().trainer(self.name).settings, len(data.features)
        line = fit_piecewise_linear(data)
        residuals = data.y - line.predict(data.X)
        # Every model is clipped at 0 W, so the trees learn how far each residual is above the lowest.
        lowest = float(residuals.min())
        trees = randomised_trees(replace(data, y=residuals - lowest), settings, float(data.y.var()))
        return SumEnsemble([Member.of(line, features), Member.of(trees, features)], lowest)

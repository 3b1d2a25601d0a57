"""Straight pieces for the course of power with load, and randomised trees for what they leave over."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.blend import BlendModel
from kepler_train.models.parts import Part
from kepler_train.train.randomised_trees import randomised_trees
from kepler_train.train.trainers.piecewise_linear import straight_pieces
from kepler_train.train.training_set import TrainingSet


class ResidualForestTrainer:
    """power(x) = pieces(x) + trees(x), the trees fitted to y − pieces(x); below 0 W is 0 W."""

    name: ClassVar[str] = "ResidualForestTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> BlendModel:  # noqa: ARG002
        """Learn watts from raw features."""
        settings = catalog().trainer(self.name).settings
        pieces = straight_pieces(data)
        left = data.y - pieces.predict(data.X)
        # A model of power says nothing below 0 W, so the trees learn how far each row is above the lowest.
        lowest = float(left.min())
        every = tuple(range(len(data.features)))
        trees = randomised_trees(replace(data, y=left - lowest), settings, float(data.y.var()))
        return BlendModel([Part(every, pieces), Part(every, trees)], lowest)

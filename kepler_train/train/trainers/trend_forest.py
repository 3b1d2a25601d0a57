"""Randomised trees inside the data, and straight lines that go on from them beyond: trees alone stay flat there."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.blend import BlendModel
from kepler_train.models.parts import Part
from kepler_train.models.terms import TermsModel
from kepler_train.train.non_negative import largest
from kepler_train.train.randomised_trees import trees_of_power
from kepler_train.train.trainers.piecewise_linear import straight_pieces
from kepler_train.train.training_set import TrainingSet


class TrendForestTrainer:
    """power(x) = trees(x) + slope · (x − largest x seen) where x is beyond it.

    The slope is that of the last piece of PiecewiseLinearTrainer: power that no longer rises with load does not begin
    to rise again beyond the data.
    """

    name: ClassVar[str] = "TrendForestTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> BlendModel:  # noqa: ARG002
        """Learn watts from raw features."""
        every = tuple(range(len(data.features)))
        trees = trees_of_power(data, catalog().trainer(self.name).settings)
        return BlendModel([Part(every, trees), Part(every, _beyond(data))])


def _beyond(data: TrainingSet) -> TermsModel:
    """What the last piece of each feature adds above its largest value: 0 W inside the data."""
    pieces, scale = straight_pieces(data), largest(data.X)
    last = [
        (number, weight)
        for (number, *others), weight in zip(pieces.terms, pieces.weight, strict=True)
        if not others and pieces.pieces[number].high > scale[pieces.pieces[number].column]
    ]
    found = [pieces.pieces[number] for number, _ in last]
    return TermsModel(
        0.0,
        [piece._replace(low=scale[piece.column]) for piece in found],
        [(number,) for number in range(len(found))],
        np.array([weight for _, weight in last], dtype=np.float64),
    )

"""Straight pieces between quantiles of each feature, none of them falling; steeper at a higher clock where it is known.

Power rises steeply with the first work and slower later, which one line cannot follow; beyond the data the last piece
goes on.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.component import Watts
from kepler_train.models.terms import Piece, TermsModel
from kepler_train.train.non_negative import REACH, fit_terms, largest
from kepler_train.train.shared import made_once
from kepler_train.train.subsample import subsample
from kepler_train.train.training_set import TrainingSet

CLOCK = "cpu_scaling_frequency_hertz"
# Parts of the largest value where a piece ends too: quantiles of a machine that is mostly idle are all near 0.
_EARLY = (0.02, 0.1)


class PiecewiseLinearTrainer:
    """power = a + Σ slope · length within the piece, with slope ≥ 0; b + c·f + d·f² where the clock f is a feature.

    Dynamic power of CMOS is C·V²·f, and the voltage rises with the clock: the same work costs more at a higher one.
    """

    name: ClassVar[str] = "PiecewiseLinearTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TermsModel:  # noqa: ARG002
        """Learn watts from features; without intercept no work is 0 W."""
        return straight_pieces(data)


@made_once
def straight_pieces(data: TrainingSet) -> TermsModel:
    """The model of PiecewiseLinearTrainer, which others build on."""
    settings = catalog().trainer(PiecewiseLinearTrainer.name).settings
    data = subsample(data, settings["max_rows"])
    scale = largest(data.X)
    pieces = [
        Piece(column, low, high, scale[column])
        for column in range(len(data.features))
        if scale[column] > 0
        for low, high in pairwise(_ends(data.X[:, column], scale[column], settings["pieces"]))
    ]
    terms: list[tuple[int, ...]] = [(number,) for number in range(len(pieces))]
    if CLOCK in data.features and scale[data.features.index(CLOCK)] > 0:
        clock = data.features.index(CLOCK)
        whole = Piece(clock, 0.0, REACH * scale[clock], scale[clock])
        work = [number for number, piece in enumerate(pieces) if piece.column != clock]
        terms += [(number, len(pieces) + power) for number in work for power in (0, 1)]
        pieces += [whole, whole._replace(power=2.0)]
    return fit_terms(data, pieces, terms)


def _ends(x: Watts, scale: float, pieces: int) -> list[float]:
    """Where pieces meet: 0, quantiles, and as far beyond the data as a trend is followed."""
    quantiles = np.quantile(x, np.linspace(0.0, 1.0, pieces + 1)[1:-1])
    inner = np.unique([*quantiles, *(share * scale for share in _EARLY)])
    # A last piece that begins at the largest value has no rows to learn its slope from.
    return [0.0, *inner[(inner > 0) & (inner < 0.95 * scale)].tolist(), REACH * scale]

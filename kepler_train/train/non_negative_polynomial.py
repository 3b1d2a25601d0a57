"""Sum of features, their roots, products and geometric means, none of them negative: bends, and never falls."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import ClassVar

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.terms import Piece, TermsModel
from kepler_train.train.non_negative import REACH, fit_terms, largest
from kepler_train.train.subsample import subsample
from kepler_train.train.training_set import TrainingSet


class NonNegativePolynomialTrainer:
    """power = a + Σ b·z + Σ c·√z + Σ d·z·z′ + Σ e·√(z·z′) over features z, scaled by their largest value; all ≥ 0."""

    name: ClassVar[str] = "NonNegativePolynomialTrainer"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> TermsModel:  # noqa: ARG002
        """Learn watts from features; without intercept no work is 0 W."""
        data = subsample(data, catalog().trainer(self.name).settings["max_rows"])
        scale = largest(data.X)
        columns = [column for column, size in enumerate(scale) if size > 0]
        plain = [Piece(column, 0.0, REACH * scale[column], scale[column]) for column in columns]
        roots = [piece._replace(power=0.5) for piece in plain]
        count = len(columns)
        terms: list[tuple[int, ...]] = [(number,) for number in range(2 * count)]
        terms += combinations_with_replacement(range(count), 2)
        terms += combinations(range(count, 2 * count), 2)
        return fit_terms(data, [*plain, *roots], terms)

"""Sum of features, their roots, products and geometric means, none of them negative: bends, and never falls."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import ClassVar

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.component import Matrix, Watts
from kepler_train.models.terms import Piece, TermsModel
from kepler_train.train.non_negative import REACH, fit_terms, largest
from kepler_train.train.subsample import subsample
from kepler_train.train.training_set import TrainingSet

# Features whose products and geometric means are terms; the time of a fit grows with the square of the terms.
_MULTIPLIED = 8


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
        strongest = _strongest(data.X[:, columns], data.y)
        terms: list[tuple[int, ...]] = [(number,) for number in range(2 * count)]
        terms += combinations_with_replacement(strongest, 2)
        terms += combinations([count + number for number in strongest], 2)
        return fit_terms(data, [*plain, *roots], terms)


def _strongest(X: Matrix, y: Watts) -> list[int]:
    """The features that go best with power, so many that their products stay few."""
    X, y = X - X.mean(axis=0), y - y.mean()
    size = np.sqrt((X**2).sum(axis=0))
    together = np.abs(X.T @ y) / np.where(size > 0, size, np.inf)
    return sorted(np.argsort(-together, kind="stable")[:_MULTIPLIED].tolist())

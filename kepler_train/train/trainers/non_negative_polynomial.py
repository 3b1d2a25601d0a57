"""Sum of features, their roots, products and geometric means (W), weights ≥ 0: bends, and never falls with work."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, Matrix, Watts
from kepler_train.models.ramps import Ramp, RampModel
from kepler_train.train.methods.non_negative import EXTRAPOLATION, fit_ramps
from kepler_train.train.methods.scaling import max_scale
from kepler_train.train.methods.subsample import subsample
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet

# Features that are multiplied with each other; the time of a fit grows with the square of the terms.
_MULTIPLIED = 8


class NonNegativePolynomialTrainer(Trainer):
    """power = a + Σ b·z + Σ c·√z + Σ d·z·z′ + Σ e·√(z·z′) over features z, scaled by their largest value; all ≥ 0."""

    name = "NonNegativePolynomialTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> RampModel:
        """Return the polynomial with the least absolute error; without intercept, no work is 0 W."""
        data = subsample(data, catalog().trainer(self.name).settings["max_rows"])
        scale = max_scale(data.X)
        columns = [column for column, largest in enumerate(scale) if largest > 0]
        plain = [Ramp(column, 0.0, EXTRAPOLATION * scale[column], scale[column]) for column in columns]
        roots = [ramp._replace(power=0.5) for ramp in plain]
        count = len(columns)
        strongest = _most_correlated(data.X[:, columns], data.y)
        terms: list[tuple[int, ...]] = [(number,) for number in range(2 * count)]
        terms += combinations_with_replacement(strongest, 2)
        terms += combinations([count + number for number in strongest], 2)
        return fit_ramps(data, [*plain, *roots], terms)


def _most_correlated(X: Matrix, y: Watts) -> list[int]:
    """Return the features that correlate best with power, few enough to multiply."""
    X, y = X - X.mean(axis=0), y - y.mean()
    size = np.sqrt((X**2).sum(axis=0))
    correlation = np.abs(X.T @ y) / np.where(size > 0, size, np.inf)
    return sorted(np.argsort(-correlation, kind="stable")[:_MULTIPLIED].tolist())

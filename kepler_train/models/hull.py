"""The hull of a model's training features: beyond it, predictions are extrapolation, and are marked so.

Features are scaled by their range, u = x / (largest − smallest). The hull is all u with low ≤ d·u ≤ high for d in a
fixed set of directions: every axis, and every sum uᵢ + uⱼ and difference uᵢ − uⱼ. The pairs detect what a box does not:
features that always rose together, and now do not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from kepler_train.errors import UserError
from kepler_train.models.component import Matrix, Vector
from kepler_train.models.lags import MOST_FEATURES, feature_problem
from kepler_train.models.numbers import check_array

if TYPE_CHECKING:
    import pandas as pd

# How far beyond the training rows is still inside, as a share of a feature's range: rates are never exactly repeated.
TOLERANCE = 0.01
# The same for the sum of a node's containers: it includes the work of the background, which training removes.
BEYOND = 0.1
_TINY, _HUGE = 5e-324, sys.float_info.max


@dataclass(frozen=True)
class Hull:
    """Features with their scale, and the range of the training rows in each direction."""

    features: list[str]
    scale: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, rows: pd.DataFrame, features: list[str], *, parts: bool = False) -> Self:
        """Return the hull of rows; with `parts`, of all between 0 and these rows, where containers of a node are."""
        X = rows[features].to_numpy(dtype=np.float64)
        if parts:
            X = np.vstack([X, np.zeros(len(features))])
        width = X.max(axis=0) - X.min(axis=0)
        # A feature that never changed has no range: it may differ by a share of itself.
        scale = np.where(width > 0, width, np.where(X[0] != 0, np.abs(X[0]), 1.0))
        ranges = [(block.min(axis=0), block.max(axis=0)) for block in _projections(X / scale)]
        low, high = (np.concatenate(ends) for ends in zip(*ranges, strict=True))
        return cls(features, scale, low, high)

    def outside(self, rows: pd.DataFrame | Mapping[str, Vector]) -> npt.NDArray[np.bool_]:
        """Return which rows are more than `TOLERANCE` beyond the training rows in any direction, or not finite."""
        X = np.column_stack([np.asarray(rows[name], dtype=np.float64) for name in self.features])
        inside, start = np.ones(len(X), dtype=bool), 0
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is outside too
            for block in _projections(X / self.scale):
                ends = slice(start, start + block.shape[1])
                inside &= ((block >= self.low[ends] - TOLERANCE) & (block <= self.high[ends] + TOLERANCE)).all(axis=1)
                start = ends.stop
        return ~inside

    def beyond(self, columns: Mapping[str, Vector]) -> npt.NDArray[np.bool_]:
        """Return which rows have more of any feature than all training rows, by more than `BEYOND` of its range."""
        tops = (self.high[: len(self.features)] + BEYOND) * self.scale
        above = [columns[name] > top for name, top in zip(self.features, tops, strict=True)]
        return np.asarray(np.logical_or.reduce(above))

    def as_dict(self) -> dict[str, Any]:
        """Return the hull for a model's metadata."""
        numbers = {name: getattr(self, name).tolist() for name in ("scale", "low", "high")}
        return {"features": self.features} | numbers

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """Return the hull in a model's metadata."""
        try:
            features = content["features"]
            count = len(features) if type(features) is list else 0
            if not 0 < count <= MOST_FEATURES:
                raise ValueError(f"it has no list of 1 to {MOST_FEATURES} features")
            if problem := next(filter(None, map(feature_problem, features)), None):
                raise ValueError(problem)
            # A feature that hardly ever changed has a tiny scale, and ends far away.
            scale = check_array(np.array(content["scale"]), (count,), _TINY, _HUGE)
            low, high = (check_array(np.array(content[name]), (count**2,), -_HUGE, _HUGE) for name in ("low", "high"))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"The hull of the model cannot be read: {error}.") from None
        return cls(list(features), *(np.asarray(numbers, dtype=np.float64) for numbers in (scale, low, high)))


def _projections(scaled: Matrix) -> Iterator[Matrix]:
    """Yield the rows in every direction, block by block: axes, then sums and differences of pairs."""
    yield scaled
    for column in range(scaled.shape[1] - 1):
        first, others = scaled[:, [column]], scaled[:, column + 1 :]
        yield first + others
        yield first - others

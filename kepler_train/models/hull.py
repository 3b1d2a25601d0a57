"""The hull of a model's training features: beyond it the model has seen nothing, and says so.

Features are scaled by their range, u = x / (largest − smallest). The hull is all u with low ≤ d·u ≤ high for d in a
fixed set of directions: every axis, and every sum uᵢ + uⱼ and difference uᵢ − uⱼ. The pairs see what a box does not:
features that always rose together, and now do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from kepler_train.errors import UserError
from kepler_train.models.component import Matrix, Watts

# How far beyond the training rows is still inside, as a share of a feature's range: rates are never exactly repeated.
TOLERANCE = 0.01
# The same for all containers of a node together, who do the work of the background too, which training removes.
BEYOND = 0.1


@dataclass(frozen=True)
class Hull:
    """Features with their scale, and the range of the training rows in each direction."""

    features: list[str]
    scale: Watts
    low: Watts
    high: Watts

    @classmethod
    def of(cls, rows: pd.DataFrame, features: list[str], *, parts: bool = False) -> Self:
        """The hull of rows; with `parts`, of everything between nothing and these rows, as containers of a node are."""
        X = rows[features].to_numpy(dtype=np.float64)
        if parts:
            X = np.vstack([X, np.zeros(len(features))])
        width = X.max(axis=0) - X.min(axis=0)
        # A feature that never moved has no range: it may differ by a share of itself.
        scale = np.where(width > 0, width, np.where(X[0] != 0, np.abs(X[0]), 1.0))
        ends = [(block.min(axis=0), block.max(axis=0)) for block in _projected(X / scale)]
        return cls(features, scale, np.concatenate([low for low, _ in ends]), np.concatenate([top for _, top in ends]))

    def outside(self, rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows are further than `TOLERANCE` beyond the training rows in some direction, or not numbers."""
        X = rows[self.features].to_numpy(dtype=np.float64)
        inside, place = np.ones(len(X), dtype=bool), 0
        with np.errstate(over="ignore", invalid="ignore"):  # beyond all numbers is outside too
            for block in _projected(X / self.scale):
                ends = slice(place, place + block.shape[1])
                inside &= ((block >= self.low[ends] - TOLERANCE) & (block <= self.high[ends] + TOLERANCE)).all(axis=1)
                place = ends.stop
        return ~inside

    def beyond(self, columns: Mapping[str, Watts]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows have more of some feature than any training row, by more than `BEYOND` of its range."""
        tops = self.high[: len(self.features)] + BEYOND
        above = [columns[name] > tops[place] * self.scale[place] for place, name in enumerate(self.features)]
        return np.asarray(np.logical_or.reduce(above))

    def as_dict(self) -> dict[str, Any]:
        """What a model's metadata keep."""
        numbers = {name: getattr(self, name).tolist() for name in ("scale", "low", "high")}
        return {"features": self.features} | numbers

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """The hull that metadata keep."""
        try:
            numbers = [np.array(content[name], dtype=np.float64) for name in ("scale", "low", "high")]
            found = cls(list(content["features"]), *numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"The hull of the model cannot be read: {error}.") from None
        count = len(found.features)
        if [len(part) for part in numbers] != [count, count**2, count**2]:
            raise UserError(f"The hull of the model is not one of {count} features.")
        return found


def _projected(scaled: Matrix) -> Iterator[Matrix]:
    """The rows in every direction, a block of directions at a time: axes, then sums and differences of pairs."""
    yield scaled
    for column in range(scaled.shape[1] - 1):
        one, others = scaled[:, [column]], scaled[:, column + 1 :]
        yield one + others
        yield one - others

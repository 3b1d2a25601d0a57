"""Models of components as kepler-model-server trains them. Its clients clip at 0 W, and so is done here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from kepler_train.models.component import Matrix, Vector, Watts
from kepler_train.models.graphs import NoGraph
from kepler_train.models.linear import LinearModel
from kepler_train.models.trees import TreesModel


@dataclass(frozen=True)
class ClippedLinear(LinearModel):
    """A linear model whose weights may be negative."""

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return np.maximum(super().predict(X), 0.0)

    def graph(self, features: int) -> NoReturn:  # noqa: ARG002
        """Refuse: such a model is not written again."""
        raise NoGraph("it is another tool's")


@dataclass(frozen=True)
class ScaledTrees(TreesModel):
    """A booster over features divided by their scales."""

    scale: Vector

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return super().predict(X / self.scale)

    def graph(self, features: int) -> NoReturn:  # noqa: ARG002
        """Refuse: such a model is not written again."""
        raise NoGraph("it is another tool's")

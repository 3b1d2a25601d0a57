"""Linear model by stochastic gradient descent: goes on from the model of an earlier window when it is given one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, LinearModel, Matrix
from kepler_train.models.component import Watts
from kepler_train.train.training_set import TrainingSet

# The last steps are shorter than the first by the square root of this.
_SHORTER = 20
# Of many rows batches are larger: more of them would not come nearer.
_BATCHES = 256


class SGDRegressorTrainer:
    """min mean (bias + (X/scale)·w − y)² with bias, w ≥ 0, by projected steps: below 0 is cut off after each one.

    Cutting off once at the end would leave what other weights did to make up for it. The weights are the mean over the
    second half of the steps (Polyak and Juditsky 1992).
    """

    name: ClassVar[str] = "SGDRegressorTrainer"
    additive: ClassVar[bool] = True  # without intercept, a sum of features gives the sum of watts
    continues: ClassVar[bool] = True
    lags: ClassVar[int] = 0

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> LinearModel:
        """Learn watts from features scaled by their largest value, from 0 or from the weights of `before`."""
        settings = catalog().trainer(self.name).settings
        X = data.X
        largest = np.abs(X).max(axis=0)
        scale = np.where(largest > 0, largest, 1.0)
        columns = np.hstack([X / scale, np.ones((len(X), 1))]) if data.intercept else X / scale
        # Steps are as long for every column when all have the same mean square.
        size = np.sqrt((columns**2).mean(axis=0))
        size = np.where(size > 0, size, 1.0)
        start = np.zeros(columns.shape[1])
        if isinstance(before, LinearModel):
            start[: X.shape[1]] = before.weight / before.scale * scale
            if data.intercept:
                start[-1] = before.bias
        chance = np.random.default_rng(data.seed)
        found = _descend(columns / size, data.y, start * size, chance, **settings) / size
        return LinearModel(float(found[-1]) if data.intercept else 0.0, found[: X.shape[1]], scale)


def _descend(
    A: Matrix, y: Watts, start: Watts, chance: np.random.Generator, batch: int, epochs: int, steps: int
) -> npt.NDArray[np.float64]:
    """Mean weights of the later steps, each along the gradient of one batch of rows; at least `steps` in all.

    The gradient of a batch is Aᵀ(A·w − y)/rows, so a step is w ← max(0, M·w + v) with an M and a v for every batch.
    """
    batches = min(max(len(y) // batch, 1), _BATCHES)
    rows = chance.permutation(len(y))[: len(y) // batches * batches].reshape(batches, -1)
    parts = A[rows]
    squares = parts.transpose(0, 2, 1) @ parts / rows.shape[1]
    targets = np.einsum("bri,br->bi", parts, y[rows]) / rows.shape[1]
    # A longer step than this goes astray on its batch; shorter ones, later, are the same for all.
    longest = 1 / np.maximum(np.trace(squares, axis1=1, axis2=2), 1e-12)
    w, total, counted = start, np.zeros_like(start), 0
    draws = max(batches, -(-steps // epochs))  # of few rows, several passes to an epoch
    for epoch in range(epochs):
        step = np.minimum(longest, np.median(longest) / np.sqrt(1 + _SHORTER * epoch / epochs))[:, None]
        maps, moves = np.eye(len(start)) - step[:, :, None] * squares, step * targets
        for number in np.concatenate([chance.permutation(batches) for _ in range(-(-draws // batches))])[:draws]:
            w = np.maximum(maps[number] @ w + moves[number], 0.0)
            if 2 * epoch >= epochs:
                total += w
                counted += 1
    return total / counted

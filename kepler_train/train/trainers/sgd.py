"""Linear model with non-negative coefficients (W) by stochastic gradient descent, which can go on from an earlier one.

What the new rows do not tell is kept from the model of the earlier window.
"""

from __future__ import annotations

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel, LinearModel, Matrix
from kepler_train.models.component import Vector, Watts
from kepler_train.train.methods.scaling import max_abs_scale
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet

# The last steps are shorter than the first by the square root of this.
_DECAY = 20
# With many rows, batches are larger: more of them would not converge better.
_MAX_BATCHES = 256


class SGDRegressorTrainer(Trainer):
    """min mean (bias + (X/scale)·w − y)² with bias, w ≥ 0, by projected steps: each is clipped at 0.

    Clipping once at the end would keep what other weights did to compensate. The weights are the mean over the second
    half of the steps (Polyak and Juditsky 1992).
    """

    name = "SGDRegressorTrainer"
    additive = True  # without intercept, a sum of features gives the sum of watts
    continues = True

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> LinearModel:
        """Return the line over features scaled by their largest value, starting at 0 or at the weights of `before`."""
        settings = catalog().trainer(self.name).settings
        X, scale = data.X, max_abs_scale(data.X)
        columns = np.hstack([X / scale, np.ones((len(X), 1))]) if data.intercept else X / scale
        # Steps are as long for every column when all have the same mean square.
        size = np.sqrt((columns**2).mean(axis=0))
        size = np.where(size > 0, size, 1.0)
        start = np.zeros(columns.shape[1])
        if isinstance(before, LinearModel):
            start[: X.shape[1]] = before.weight / before.scale * scale
            if data.intercept:
                start[-1] = before.bias
        random = np.random.default_rng(data.seed)
        weights = _descend(columns / size, data.y, start * size, random, **settings) / size
        return LinearModel(float(weights[-1]) if data.intercept else 0.0, weights[: X.shape[1]], scale)


def _descend(
    A: Matrix, y: Watts, start: Vector, random: np.random.Generator, batch: int, epochs: int, steps: int
) -> Vector:
    """Return the mean weights of the later steps, each along the gradient of one batch; at least `steps` in all.

    The gradient of a batch is Aᵀ(A·w − y)/rows, so a step is w ← max(0, M·w + v) with an M and a v for every batch.
    """
    batches = min(max(len(y) // batch, 1), _MAX_BATCHES)
    rows = random.permutation(len(y))[: len(y) // batches * batches].reshape(batches, -1)
    batch_rows = A[rows]
    squares = batch_rows.transpose(0, 2, 1) @ batch_rows / rows.shape[1]
    targets = np.einsum("bri,br->bi", batch_rows, y[rows]) / rows.shape[1]
    # A longer step than this diverges on its batch; later, shorter ones are the same for all.
    longest = 1 / np.maximum(np.trace(squares, axis1=1, axis2=2), 1e-12)
    w, total, counted = start, np.zeros_like(start), 0
    draws = max(batches, -(-steps // epochs))  # with few rows, several passes to an epoch
    for epoch in range(epochs):
        step = np.minimum(longest, np.median(longest) / np.sqrt(1 + _DECAY * epoch / epochs))[:, None]
        maps, moves = np.eye(len(start)) - step[:, :, None] * squares, step * targets
        for number in np.concatenate([random.permutation(batches) for _ in range(-(-draws // batches))])[:draws]:
            w = np.maximum(maps[number] @ w + moves[number], 0.0)
            if 2 * epoch >= epochs:
                total += w
                counted += 1
    return total / counted

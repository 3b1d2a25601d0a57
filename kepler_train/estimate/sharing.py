"""Containers share the power that a model predicts for their node.

A model of dynamic power is trained on the power of nodes. For container c in a window it predicts

    f(Σ x) · s_c / Σ s

with s_c = f(x_c) where the model is additive, else s_c = w·x_c with the weights w of its attribution rule. The ends of
the interval are shared alike, so that those of all containers add up to those of their node. The power of a window in
which no container has any s_c belongs to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kepler_train.arrays import Floats, Positions
from kepler_train.catalog import catalog
from kepler_train.columns import NODE, TIME
from kepler_train.errors import UserError
from kepler_train.models.metadata import ADDITIVE, Training
from kepler_train.models.power import PowerModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ContainerRows:
    """Rows of containers: a column per feature (1/s), and the number of the window and node of each row."""

    columns: Mapping[str, Floats]
    window: Positions

    def added_up(self, name: str) -> Floats:
        """Return a feature of the node by window: the sum over its containers, or the value that all of them have."""
        values, windows = self.columns[name], int(self.window.max()) + 1
        if catalog().adds_up(name):
            return np.asarray(np.bincount(self.window, values, windows), dtype=np.float64)
        whole = np.full(windows, -np.inf)
        np.maximum.at(whole, self.window, values)
        return whole

    def share(self, node_watts: Floats, weights: Floats) -> Floats:
        """Return the share of each container (W) in the power of its node by window, in proportion to weights."""
        total = np.bincount(self.window, weights)[self.window]
        share = np.divide(weights, total, out=np.zeros(len(weights)), where=total > 0)
        return np.asarray(share * node_watts[self.window])


def window_numbers(rows: pd.DataFrame) -> Positions:
    """Return the number of the window and node of each row of a container."""
    return rows.groupby([TIME, NODE], sort=False, observed=True).ngroup().to_numpy().astype(np.intp)


def sharing_features(metadata: Training) -> set[str]:
    """Return the features that containers share power by, beside those of the model."""
    return {feature for weights in metadata.sharing.values() for feature, weight in weights.items() if weight}


def share_weights(model: PowerModel, metadata: Training, columns: Mapping[str, Floats]) -> Mapping[str, Floats]:
    """Return s of every container by component: see above."""
    if metadata.attribution == ADDITIVE:
        return model.watts(columns)
    if not all(name in metadata.sharing for name in model.components):
        raise UserError(f"{model.name} does not say how containers share the power of their node: train it again.")
    rows = len(next(iter(columns.values())))
    return {
        component: sum(
            (float(weight) * model.numbers(columns, feature) for feature, weight in weights.items() if weight),
            np.zeros(rows),
        )
        for component, weights in metadata.sharing.items()
    }

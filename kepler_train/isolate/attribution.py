"""Attribution: the dynamic power of a node shared among its containers.

With D the dynamic power of a window (W) and x_c the features of container c in it, c gets

    D · (w·x_c) / Σ_c (w·x_c)

so that the shares of a window add up to D. A rule says what w is, for each power column of each node:

- `main-feature`: 1 for the main feature of the group, 0 for the others;
- `proportional`: min ‖X·w − D‖² over all windows with w ≥ 0, X being the features of the node.

Where no container did any work that has a weight, the power belongs to nobody: it is a row of its own, `UNATTRIBUTED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.arrays import Floats, Positions
from kepler_train.catalog import FeatureGroup

UNATTRIBUTED = "unattributed"
# Below this, a sum of weighted work is one of rounding errors: dividing by it does not give shares.
_NO_WORK = 1e-280


@dataclass(frozen=True)
class Shares:
    """How the power of one column is shared: weights by node and feature, and the weighted work of each window."""

    features: list[str]
    weights: Floats  # a row per node, a column per feature; the largest of a node is 1
    nodes: list[str]
    node_of: Positions  # the row of `weights` of each window
    work: Floats  # of all containers, per window
    watts: Floats  # dynamic power, per window

    @property
    def has_work(self) -> npt.NDArray[np.bool_]:
        """Return the windows whose power can be shared."""
        return self.work > _NO_WORK

    def of(self, rows: Positions, features: Mapping[str, Floats]) -> Floats:
        """Return the power (W) of containers, given their window and their features."""
        work = np.zeros(len(rows))
        for place, name in enumerate(self.features):
            work += features[name] * self.weights[self.node_of[rows], place]
        share = np.divide(work, self.work[rows], out=np.zeros(len(rows)), where=self.has_work[rows])
        return np.asarray(share * self.watts[rows])

    def left(self) -> Floats:
        """Return the power (W) of each window that belongs to nobody."""
        return np.where(self.has_work, 0.0, self.watts)

    def as_weights(self) -> dict[str, dict[str, float]]:
        """Return the weights by node and feature."""
        return {
            node: dict(zip(self.features, map(float, row), strict=True))
            for node, row in zip(self.nodes, self.weights, strict=True)
        }


def shares(
    rule: str, group: FeatureGroup, component: str, node: pd.Series[str], work: Mapping[str, Floats], watts: Floats
) -> Shares:
    """Return how to share one power column; `work` are the features that add up over containers, by window."""
    features = list(work)
    X = np.column_stack([work[name] for name in features]) if features else np.zeros((len(watts), 0))
    node_of, nodes = pd.factorize(node, sort=True)
    weights = np.zeros((len(nodes), len(features)))
    for place in range(len(nodes)):
        windows = node_of == place
        weights[place] = rule_weights(rule, group, component, features, X[windows], watts[windows])
    return Shares(
        features,
        weights,
        [str(name) for name in nodes],
        node_of.astype(np.int64),
        np.einsum("rf,rf->r", X, weights[node_of]),
        watts,
    )


def rule_weights(
    rule: str, group: FeatureGroup, component: str, features: list[str], X: Floats, watts: Floats
) -> Floats:
    """Return the weight of each feature by a rule, from windows with these features and this dynamic power (W)."""
    return _main_feature(group, component, features) if rule == "main-feature" else _non_negative(X, watts)


def _main_feature(group: FeatureGroup, component: str, features: list[str]) -> Floats:
    main = group.main_feature(component)
    if main not in features:
        main = features[0] if features else None
    return np.array([float(name == main) for name in features])


def _non_negative(X: Floats, watts: Floats) -> Floats:
    """Return weights by non-negative least squares (Lawson and Hanson 1974), on features scaled by their largest."""
    from scipy.optimize import nnls

    largest = X.max(axis=0, initial=0.0)
    used = np.flatnonzero(largest > _NO_WORK)
    weights = np.zeros(X.shape[1])
    if len(used) and watts.max(initial=0.0) > 0:
        # ‖A·w − D‖² = ‖R·w − Qᵀ·D‖² + constant with A = QR: the search runs on a few rows, not on all windows.
        orthogonal, triangular = np.linalg.qr(X[:, used] / largest[used])
        scaled, _ = nnls(triangular, orthogonal.T @ (watts / watts.max()))
        weights[used] = scaled / largest[used]
    return weights / weights.max() if weights.max(initial=0.0) > 0 else weights

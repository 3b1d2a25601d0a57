"""What a model says of rows; of containers, their share of what it says of their node.

A model of dynamic power is judged by the power of nodes. Of container c in a window it says

    f(Σ x) · s_c / Σ s

with s_c = f(x_c) where the model is additive, else s_c = w·x_c with the weights w of its attribution rule. The ends of
the interval are shared alike, so that those of all containers add up to those of their node. A window in which no
container did any work that counts is nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.columns import CONTAINER, NODE, TIME
from kepler_train.errors import UserError
from kepler_train.models.component import Watts
from kepler_train.models.interval import apply_interval
from kepler_train.models.metadata import ADDITIVE, Training
from kepler_train.models.power import PowerModel


class Estimate(NamedTuple):
    """Power by row (W), and the ends of its interval."""

    predicted: Watts
    low: Watts
    high: Watts


@dataclass(frozen=True)
class ContainerRows:
    """Rows of containers: a column per feature (1/s), and the number of the window and node that each row is of."""

    columns: dict[str, Watts]
    window: npt.NDArray[np.intp]

    def added_up(self, name: str) -> Watts:
        """A feature of the node by window: the sum over its containers, or what all of them have, as the clock."""
        values, windows = self.columns[name], int(self.window.max()) + 1
        if catalog().adds_up(name):
            return np.asarray(np.bincount(self.window, values, windows), dtype=np.float64)
        whole = np.full(windows, -np.inf)
        np.maximum.at(whole, self.window, values)
        return whole


def estimated(model: PowerModel, metadata: Training, rows: pd.DataFrame) -> dict[str, Estimate]:
    """What a model says of rows by component; of containers of one time and node, which must all be there, together."""
    columns = model.columns_of(rows)
    if not are_containers(metadata, rows):
        return _with_intervals(model.watts(columns), metadata)
    window = window_numbers(rows)
    containers = ContainerRows(columns, window)
    node = _with_intervals(model.watts({name: containers.added_up(name) for name in model.features}), metadata)
    counts = _what_counts(model, metadata, rows, columns)
    return {component: _shared(own, counts[component], window) for component, own in node.items()}


def are_containers(metadata: Training, rows: pd.DataFrame) -> bool:
    """Whether rows are parts of a node to a model: AbsPower is of nodes, whatever a row is called."""
    return metadata.output_type == "DynPower" and CONTAINER in rows.columns


def window_numbers(rows: pd.DataFrame) -> npt.NDArray[np.intp]:
    """The number of the window and node of each row of a container."""
    return rows.groupby([TIME, NODE], sort=False, observed=True).ngroup().to_numpy().astype(np.intp)


def sharing_features(metadata: Training) -> set[str]:
    """The features that containers share power by, beside those that the model looks at."""
    return {feature for own in metadata.sharing.values() for feature, weight in own.items() if weight}


def _with_intervals(watts: Mapping[str, Watts], metadata: Training) -> dict[str, Estimate]:
    return {
        component: Estimate(own, *apply_interval(metadata.interval[component], own)) for component, own in watts.items()
    }


def _what_counts(
    model: PowerModel, metadata: Training, rows: pd.DataFrame, columns: Mapping[str, Watts]
) -> dict[str, Watts]:
    """What the containers of a node share its power by, for each component."""
    if metadata.attribution == ADDITIVE:
        return model.watts(columns)
    if not all(name in metadata.sharing for name in model.components):
        raise UserError(f"{model.name} does not say how containers share the power of their node: train it again.")
    return {component: _weighted(model, own, rows) for component, own in metadata.sharing.items()}


def _weighted(model: PowerModel, weights: Mapping[str, float], rows: pd.DataFrame) -> Watts:
    """w·x of every row, of features that have a weight."""
    counts = np.zeros(len(rows))
    for feature, weight in weights.items():
        if weight:
            counts += float(weight) * model.numbers(rows, feature)
    return counts


def _shared(node: Estimate, counts: Watts, window: npt.NDArray[np.intp]) -> Estimate:
    total = np.bincount(window, counts)[window]
    share = np.divide(counts, total, out=np.zeros(len(counts)), where=total > 0)
    return Estimate(*(share * ends[window] for ends in node))

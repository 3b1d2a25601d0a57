"""Predict power from features: the one function that commands, servers and the meter call.

It takes plain numbers or numpy arrays, and imports no pandas; only xgboost and skops do so for the models they read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kepler_train.arrays import Bools, Floats, Positions
from kepler_train.errors import UserError
from kepler_train.estimate.sharing import ContainerRows, share_weights, sharing_features
from kepler_train.models.hull import Hull
from kepler_train.models.interval import apply_interval
from kepler_train.models.lags import MARK, lags_of
from kepler_train.models.metadata import Training
from kepler_train.models.power import PowerModel


class Prediction(NamedTuple):
    """Power of one component by row (W), the ends of its interval, and which rows are unlike those of training."""

    predicted: Floats
    low: Floats
    high: Floats
    outside: Bools


def predict(
    model: PowerModel,
    metadata: Training,
    features: Mapping[str, npt.ArrayLike],
    window: Positions | None = None,
) -> dict[str, Prediction]:
    """Return power (W) by component, of one row (a number per feature) or of several (an array per feature).

    Features are rates (1/s) by name. Rows are nodes; with `window`, the number of the window and node of each row, they
    are containers, which share what a DynPower model predicts for their node: all containers of a window must be given.
    A model that looks at earlier windows needs them as further features: see `with_earlier_windows`.
    """
    if absent := [name for name in model.features if MARK in name and name not in features]:
        raise UserError(
            f"The model {model.name} looks at earlier windows: give {', '.join(absent)}, which are the features so many"
            " windows before."
        )
    if not metadata.origin and (unknown := sorted(model.components.keys() - metadata.interval.keys())):
        raise UserError(f"The model {model.name} has no interval of {', '.join(unknown)}: train it again.")
    columns = {name: model.numbers(features, name) for name in model.features}
    hulls = {component: Hull.read(content) for component, content in metadata.hull.items()}
    columns |= {name: model.numbers(features, name) for hull in hulls.values() for name in hull.features}
    rows = len(next(iter(columns.values())))
    outside = dict.fromkeys(model.components, np.zeros(rows, dtype=bool))
    outside |= {component: hull.outside(columns) for component, hull in hulls.items()}
    if window is None or metadata.output_type != "DynPower":  # AbsPower is of nodes, whatever a row is called
        return {
            component: Prediction(watts, *_ends(metadata, component, watts), outside[component])
            for component, watts in model.watts(columns).items()
        }
    columns |= {name: model.numbers(features, name) for name in sharing_features(metadata)}
    containers = ContainerRows(columns, window)
    node = {name: containers.added_up(name) for name in columns}
    weights = share_weights(model, metadata, columns)
    predictions = {}
    for component, watts in model.watts(node).items():
        if component in hulls:  # the node does more than any did in training
            outside[component] = outside[component] | hulls[component].beyond(node)[window]
        low, high = _ends(metadata, component, watts)
        power, low, high = (containers.share(end, weights[component]) for end in (watts, low, high))
        predictions[component] = Prediction(power, low, high, outside[component])
    return predictions


def _ends(metadata: Training, component: str, watts: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the interval (W); NaN where the model comes from a tool that knows none."""
    if component in metadata.interval:
        return apply_interval(metadata.interval[component], watts)
    unknown = np.full(len(watts), np.nan)
    return unknown, unknown


def with_earlier_windows(model: PowerModel, windows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the features of the last of consecutive windows, with those of earlier ones that the model looks at.

    Windows before the first are taken as equal to it.
    """
    features = dict(windows[-1])
    for lag in range(1, lags_of(model.features) + 1):
        earlier = windows[max(len(windows) - 1 - lag, 0)]
        features |= {f"{name}{MARK}{lag}": value for name, value in earlier.items()}
    return features

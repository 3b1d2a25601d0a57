"""What each isolator removes: the power of the background, and with it the work that the background did for it.

Power and work go together: a model that saw the background's work without its power would learn that work is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import pandas as pd

from kepler_train.columns import power_columns
from kepler_train.isolate.containers import Floats
from kepler_train.isolate.hints import Hints
from kepler_train.isolate.minimum import idle_power
from kepler_train.isolate.profile import Background, BackgroundNames

# Power (W) by column that AbsPower models of a feature group predict from features.
Predict = Callable[[pd.DataFrame], dict[str, Floats]]


class Removal(Protocol):
    """An isolator with all that it needs; everything is by row of the node frame."""

    def is_background(self, container: str) -> bool:
        """Whether a container's work may be the background's."""

    def allowance(self, feature: str) -> Floats:
        """Work of the background (1/s) that is removed along with its power; what exceeds it is kept."""

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:
        """Power (W) by column to remove, given the features of the background."""

    def deviation(self) -> dict[str, Floats]:
        """How far single windows of the background lie from that power (W), for columns of which it is known."""


class RemoveConstant:
    """`none` and `min`: the same power in every window of a node, and nobody's work."""

    def __init__(self, node: pd.DataFrame, isolator: str) -> None:
        self._node = node
        columns = power_columns(node)
        least = idle_power(node, columns) if isolator == "min" else idle_power(node, columns) * 0.0
        self._watts = {name: least[name].loc[node["node"]].to_numpy(dtype=np.float64) for name in columns}

    def is_background(self, container: str) -> bool:  # noqa: ARG002
        """No container is told from the others."""
        return False

    def allowance(self, feature: str) -> Floats:  # noqa: ARG002
        """Nobody's work is removed."""
        return np.zeros(len(self._node))

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:  # noqa: ARG002
        """Least power of the node, or 0 W."""
        return self._watts

    def deviation(self) -> dict[str, Floats]:
        """None: no row is below the least."""
        return {}


class RemoveProfile:
    """`profile`: mean power at idle, and as much work of the containers that ran at idle as they did then."""

    def __init__(self, node: pd.DataFrame, profiles: Mapping[str, Background]) -> None:
        self._of, self._nodes = pd.factorize(node["node"])
        self._profiles = [profiles[str(name)] for name in self._nodes]
        self._columns = power_columns(node)
        self._names = BackgroundNames({name: None for one in self._profiles for name in one.containers})

    def is_background(self, container: str) -> bool:
        """Whether it ran at idle."""
        return self._names.has(container)

    def allowance(self, feature: str) -> Floats:
        """The mean of the whole node at idle."""
        return np.array([one.usage[feature] for one in self._profiles])[self._of]

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:  # noqa: ARG002
        """The mean at idle."""
        return {name: np.array([one.power[name].mean for one in self._profiles])[self._of] for name in self._columns}

    def deviation(self) -> dict[str, Floats]:
        """As at idle."""
        return {
            name: np.array([one.power[name].deviation for one in self._profiles])[self._of] for name in self._columns
        }


class RemovePredicted:
    """`trainer`: what an AbsPower model predicts from the work of background containers, and all of that work."""

    def __init__(self, node: pd.DataFrame, hints: Hints, models: Mapping[str, Predict]) -> None:
        self._rows, self._hints, self._models = len(node), hints, models

    def is_background(self, container: str) -> bool:
        """As the hints say."""
        return self._hints.is_background(container)

    def allowance(self, feature: str) -> Floats:  # noqa: ARG002
        """Everything: the model has seen all of it."""
        return np.full(self._rows, np.inf)

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:
        """Idle power and that of the background's work, as the model of the group says."""
        return {name: np.maximum(watts, 0.0) for name, watts in self._models[group](usage).items()}

    def deviation(self) -> dict[str, Floats]:
        """Not known: a model that errs upwards removes too much."""
        return {}

"""What each isolator removes: the power of the background, and with it the work that the background did for it.

Power and work go together: a model that saw the background's work without its power would learn that work is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import numpy as np
import pandas as pd

from kepler_train.arrays import Floats
from kepler_train.columns import NODE, power_columns
from kepler_train.isolate.hints import Hints
from kepler_train.isolate.profile import BackgroundNames, BackgroundProfile

# Power (W) by column that AbsPower models of a feature group predict from features.
PredictPower = Callable[[pd.DataFrame], dict[str, Floats]]


class Removal(Protocol):
    """An isolator with all that it needs; everything is by row of the node frame."""

    def is_background(self, container: str) -> bool:
        """Return whether a container's work may be the background's."""

    def allowance(self, feature: str) -> Floats:
        """Return the background's work (1/s) that is removed along with its power; work beyond it stays."""

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:
        """Return the power (W) to remove by column, given the features of the background."""

    def deviation(self) -> dict[str, Floats]:
        """Return the standard deviation (W) of single windows of the background, for columns where it is known."""


class RemoveConstant:
    """`none` and `min`: 0 W, or the least power of the node, in every window, and nobody's work."""

    def __init__(self, node: pd.DataFrame, isolator: str) -> None:
        columns = power_columns(node)
        self._rows = len(node)
        if isolator == "min":
            least = node.groupby(NODE)[columns].transform("min")
            self._watts = {name: least[name].to_numpy(dtype=np.float64) for name in columns}
        else:
            self._watts = {name: np.zeros(len(node)) for name in columns}

    def is_background(self, container: str) -> bool:  # noqa: ARG002
        """Return False: no container is told from the others."""
        return False

    def allowance(self, feature: str) -> Floats:  # noqa: ARG002
        """Return 0: nobody's work is removed."""
        return np.zeros(self._rows)

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:  # noqa: ARG002
        """Return the least power of the node, or 0 W."""
        return self._watts

    def deviation(self) -> dict[str, Floats]:
        """Return nothing: no row is below the least."""
        return {}


class RemoveProfile:
    """`profile`: mean power at idle, and as much work of the containers that ran at idle as they did then."""

    def __init__(self, node: pd.DataFrame, profiles: Mapping[str, BackgroundProfile]) -> None:
        self._profile_of, names = pd.factorize(node[NODE])
        self._profiles = [profiles[str(name)] for name in names]
        self._columns = power_columns(node)
        self._names = BackgroundNames(name for profile in self._profiles for name in profile.containers)

    def _by_row(self, values: Iterable[float]) -> Floats:
        """Return the value of the profile of each row's node."""
        return np.array(list(values))[self._profile_of]

    def is_background(self, container: str) -> bool:
        """Return whether a container ran at idle."""
        return self._names.has(container)

    def allowance(self, feature: str) -> Floats:
        """Return the mean work of the whole node at idle (1/s)."""
        return self._by_row(profile.usage[feature] for profile in self._profiles)

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:  # noqa: ARG002
        """Return the mean power at idle (W)."""
        return {name: self._by_row(profile.power[name].mean for profile in self._profiles) for name in self._columns}

    def deviation(self) -> dict[str, Floats]:
        """Return the standard deviation at idle (W)."""
        return {
            name: self._by_row(profile.power[name].deviation for profile in self._profiles) for name in self._columns
        }


class RemovePredicted:
    """`trainer`: what an AbsPower model predicts from the work of background containers, and all of that work."""

    def __init__(self, node: pd.DataFrame, hints: Hints, models: Mapping[str, PredictPower]) -> None:
        self._rows, self._hints, self._models = len(node), hints, models

    def is_background(self, container: str) -> bool:
        """Return whether the hints name a container as background."""
        return self._hints.is_background(container)

    def allowance(self, feature: str) -> Floats:  # noqa: ARG002
        """Return infinity: the model has seen all of the background's work."""
        return np.full(self._rows, np.inf)

    def background_power(self, group: str, usage: pd.DataFrame) -> dict[str, Floats]:
        """Return idle power and that of the background's work (W), as the model of the group predicts."""
        return {name: np.maximum(watts, 0.0) for name, watts in self._models[group](usage).items()}

    def deviation(self) -> dict[str, Floats]:
        """Return nothing: it is not known, and a model that errs upwards removes too much."""
        return {}

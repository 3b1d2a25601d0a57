"""What each isolator removes: the power of the background, and with it the work that the background did for it.

Power and work go together: a model that saw the background's work without its power would learn that work is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from kepler_train.arrays import Floats
from kepler_train.columns import NODE, power_columns
from kepler_train.isolate.hints import Hints
from kepler_train.isolate.profile import BackgroundNames, BackgroundProfile

# Power (W) by column that AbsPower models of a feature group predict from features.
PredictPower = Callable[[pd.DataFrame], dict[str, Floats]]


@dataclass(frozen=True)
class Removal:
    """What an isolator removes; everything is by row of the node frame.

    `background_power` is the power (W) by column for a feature group and the features of the background in it;
    `is_background` accepts the containers whose work may be the background's; `allowance` is how much of their work in
    a feature (1/s) is removed along with the power; `deviation` is the standard deviation (W) of single windows of the
    background, for columns where it is known.
    """

    background_power: Callable[[str, pd.DataFrame], dict[str, Floats]]
    is_background: Callable[[str], bool]
    allowance: Callable[[str], Floats]
    deviation: Mapping[str, Floats] = field(default_factory=dict)


def remove_constant(node: pd.DataFrame, isolator: str) -> Removal:
    """Return `none` or `min`: 0 W or the least power of the node in every window, and nobody's work."""
    columns = power_columns(node)
    least = node.groupby(NODE)[columns].transform("min") if isolator == "min" else dict.fromkeys(columns, 0.0)
    watts = {name: np.broadcast_to(np.asarray(least[name], dtype=np.float64), len(node)) for name in columns}
    return Removal(lambda *_: watts, lambda _: False, lambda _: np.zeros(len(node)))


def remove_profile(node: pd.DataFrame, profiles: Mapping[str, BackgroundProfile]) -> Removal:
    """Return `profile`: mean power at idle, and as much work of the containers that ran at idle as they did then."""
    profile_of, names = pd.factorize(node[NODE])
    of_nodes = [profiles[str(name)] for name in names]
    idle = {name: [profile.power[name] for profile in of_nodes] for name in power_columns(node)}
    mean = {name: np.array([power.mean for power in nodes])[profile_of] for name, nodes in idle.items()}
    deviation = {name: np.array([power.deviation for power in nodes])[profile_of] for name, nodes in idle.items()}
    containers = BackgroundNames(name for profile in of_nodes for name in profile.containers)

    def usage(feature: str) -> Floats:
        return np.array([profile.usage[feature] for profile in of_nodes])[profile_of]

    return Removal(lambda *_: mean, containers.has, usage, deviation)


def remove_predicted(node: pd.DataFrame, hints: Hints, models: Mapping[str, PredictPower]) -> Removal:
    """Return `trainer`: what an AbsPower model predicts from the work of background containers, and all of that work.

    Its deviation is not known: a model that errs upwards removes too much.
    """

    def power(group: str, usage: pd.DataFrame) -> dict[str, Floats]:
        return {name: np.maximum(watts, 0.0) for name, watts in models[group](usage).items()}

    return Removal(power, hints.is_background, lambda _: np.full(len(node), np.inf))

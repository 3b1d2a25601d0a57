"""Presets: values of several parameters under one name, as the examples of the Tekton pipelines have them.

They say how a machine is loaded and what is trained, never from which energy source or feature group: that is what a
pipeline promises its users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kepler_train.errors import UserError, unknown_name

NO_PRESET = "none"
_LOADS = ["cpu", "branch", "regs", "l1cache", "cache"]
_ALL_TRAINERS = [
    "SGDRegressorTrainer",
    "LinearRegressionTrainer",
    "PolynomialRegressionTrainer",
    "KNeighborsRegressorTrainer",
    "SVRRegressorTrainer",
    "GradientBoostingRegressorTrainer",
    "XgboostFitTrainer",
    "LogarithmicRegressionTrainer",
    "LogisticRegressionTrainer",
    "ExponentialRegressionTrainer",
]

PRESETS: dict[str, dict[str, Any]] = {
    NO_PRESET: {},
    "quick": {
        "abs_trainers": ["LinearRegressionTrainer"],
        "dyn_trainers": ["LinearRegressionTrainer"],
        "folds": 3,
        "stress_args": ["cpu;none;none"],
        "stress_timeout": 10,
        "idle_collect_interval": 30,
    },
    "single AbsPower": {"output_types": ["AbsPower"], "abs_trainers": ["XgboostFitTrainer"]},
    "single DynPower": {"output_types": ["DynPower"], "dyn_trainers": ["XgboostFitTrainer"]},
    "complete": {
        "abs_trainers": _ALL_TRAINERS,
        "dyn_trainers": _ALL_TRAINERS,
        "stress_timeout": 30,
        "stress_args": [
            *[f"{load};none;none" for load in _LOADS],
            "stream;none;none",
            "vm-rw;vm-rw-bytes;4G",
            "sctp;none;none",
        ],
    },
    "Kepler default": {
        "output_types": ["AbsPower", "DynPower"],
        "abs_trainers": ["SGDRegressorTrainer"],
        "dyn_trainers": ["SGDRegressorTrainer"],
        "isolator": "min",
    },
}


def with_preset(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run with the values of its `preset` in place of defaults.

    What differs from its default was chosen by somebody, and wins over the preset.
    """
    chosen = dict(parameters)
    name = chosen.pop("preset", None) or NO_PRESET
    if name not in PRESETS:
        raise UserError(unknown_name("preset", str(name), PRESETS))
    for parameter, value in PRESETS[name].items():
        if parameter not in chosen or chosen[parameter] == defaults.get(parameter):
            chosen[parameter] = value
    return chosen

"""Kepler's weight file: linear models and curves as Kepler 0.6 to 0.9 reads them, and the watts it makes of them.

Boosters are in such a file too, for clients of the earlier model server: Kepler's own code has no trees.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kepler_train.model_key import trainer_of
from kepler_train.models.component import Watts
from kepler_train.models.power import PowerModel

if TYPE_CHECKING:
    import xgboost


def weight_file(model: PowerModel, machine_spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the content of the file; None when a component is of a kind that it has no form for.

    Without `model_name` Kepler takes a curve for a linear model, or panics.
    """
    entries = {
        component: weights
        for component, fitted in model.components.items()
        if (weights := fitted.model.weights(fitted.features)) is not None
    }
    if len(entries) < len(model.components):
        return None
    return {"model_name": model.name, "machine_spec": dict(machine_spec)} | entries


# By the name of the trainer, which Kepler takes from `model_name`; parameters in the order of the file.
_CURVES: dict[str, Callable[..., Watts]] = {
    "LogarithmicRegressionTrainer": lambda x, a, b, c: a * np.log(b * x + 1) + c,
    "LogisticRegressionTrainer": lambda x, top, x0, k, off: top / (1 + np.exp(-k * (x - x0))) + off,
    "ExponentialRegressionTrainer": lambda x, a, b, c: a * np.exp(b * x) + c,
}


def watts_of_weights(
    content: Mapping[str, Any],
    component: str,
    columns: Mapping[str, Watts],
    booster_of: Callable[[bytes, int], xgboost.Booster],
) -> Watts:
    """Return the power (W) of every row by the rules of the readers of the file, not by the code that wrote it.

    A curve looks at the first of its features, other models than curves and trees are linear, and nothing is clipped
    (only the Python clients know trees, and clip at 0 W).
    """
    entry = content[component]["All_Weights"]
    numerical = entry["Numerical_Variables"]
    if "XGboost_Weights" in entry:
        booster = booster_of(base64.b64decode(entry["XGboost_Weights"], validate=True), len(numerical))
        rows = np.column_stack([columns[feature] for feature in numerical])
        return np.maximum(np.asarray(booster.inplace_predict(rows), dtype=np.float64), 0.0)
    scaled = {feature: columns[feature] / variable["scale"] for feature, variable in numerical.items()}
    curve = _CURVES.get(trainer_of(content["model_name"]))
    if curve is not None:
        return curve(next(iter(scaled.values())), *entry["CurveFit_Weights"])
    parts = [numerical[feature]["weight"] * values for feature, values in scaled.items()]
    return np.asarray(entry["Bias_Weight"] + np.sum(parts, axis=0), dtype=np.float64)

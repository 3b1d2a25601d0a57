"""The registry of model kinds: their names in a model's files, and the classes that read and write them."""

from __future__ import annotations

import importlib
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel

# Names in files never change. A class is imported when a model of its kind is read.
KINDS = {
    "blend": "kepler_train.models.ensemble:SumEnsemble",
    "curve": "kepler_train.models.curve:CurveModel",
    "estimator": "kepler_train.models.estimator:EstimatorModel",
    "linear": "kepler_train.models.linear:LinearModel",
    "middle": "kepler_train.models.ensemble:MedianEnsemble",
    "terms": "kepler_train.models.ramps:RampModel",
    "trees": "kepler_train.models.trees:TreesModel",
}
ENSEMBLES = ("blend", "middle")


def load_component(kind: str, file: Path, features: int) -> ComponentModel:
    """Return the model of one component from its file."""
    if kind not in KINDS:
        raise UserError(f"{file} is a model of the kind {kind!r}, which this version does not know.")
    module, _, name = KINDS[kind].partition(":")
    model: ComponentModel = getattr(importlib.import_module(module), name).load(file, features)
    return model

"""The registry of model kinds: their names in a model's files, and the classes that read and write them."""

from __future__ import annotations

import importlib
from typing import Any

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel
from kepler_train.strict_json import shown

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


def read_component(kind: Any, content: bytes, where: object, features: int) -> ComponentModel:
    """Return the model of one component from the content of its file."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise UserError(f"{where} is a model of the kind {shown(kind)}, which this version does not know.")
    module, _, name = KINDS[kind].partition(":")
    model: ComponentModel = getattr(importlib.import_module(module), name).read(content, where, features)
    return model

"""Kinds of models, each with the class that reads and writes its file."""

from __future__ import annotations

import importlib
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.models.component import ComponentModel

# By the name in a model's files, imported when one is read.
KINDS = {
    "blend": "kepler_train.models.blend:BlendModel",
    "curve": "kepler_train.models.curve:CurveModel",
    "estimator": "kepler_train.models.estimator:EstimatorModel",
    "linear": "kepler_train.models.linear:LinearModel",
    "middle": "kepler_train.models.middle:MiddleModel",
    "terms": "kepler_train.models.terms:TermsModel",
    "trees": "kepler_train.models.trees:TreesModel",
}


def load_component(kind: str, file: Path, features: int) -> ComponentModel:
    """The model of one component from its file."""
    if kind not in KINDS:
        raise UserError(f"{file} is a model of the kind {kind!r}, which this version does not know.")
    module, _, name = KINDS[kind].partition(":")
    found: ComponentModel = getattr(importlib.import_module(module), name).load(file, features)
    return found

"""Trees of XGBoost, kept as its own JSON. Clipped at 0 W: the sum of leaves can be a little below all data.

XGBoost from 3.1 on writes the base score as a list, "[5.25E1]", which XGBoost up to 3.0 reads as another number without
an error. We write "5.25E1", which all of them read.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kepler_train.models import graphs
from kepler_train.models.boosters import read_booster
from kepler_train.models.component import ComponentModel, Matrix, ModelClass, Watts
from kepler_train.models.tree_graphs import booster_graph

if TYPE_CHECKING:
    import xgboost
    from onnx import ModelProto

# Only there: an attribute that a user has added may have the same name.
_BASE_SCORE = re.compile(rb'("learner_model_param":\{[^{}]*?"base_score":")\[([^],"]*)\]"')


@dataclass(frozen=True)
class TreesModel(ComponentModel):
    """An XGBoost booster over unscaled features."""

    booster: xgboost.Booster

    kind: ClassVar[str] = "trees"
    model_class: ClassVar[ModelClass] = "xgboost"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return np.maximum(np.asarray(self.booster.inplace_predict(X), dtype=np.float64), 0.0)

    def content(self) -> bytes:
        """Return the booster's JSON."""
        return self._json

    @classmethod
    def read(cls, content: bytes, where: object, features: int) -> TreesModel:
        """Return the booster of a file's content."""
        return cls(read_booster(content, where, features))

    def weights(self, features: list[str]) -> dict[str, Any]:
        """Return the component's entry in the weight file: the booster itself."""
        return {
            "All_Weights": {
                "Categorical_Variables": {},
                "Numerical_Variables": {feature: {"scale": 1.0} for feature in features},
                "XGboost_Weights": base64.b64encode(self._json).decode(),
            }
        }

    def graph(self, features: int) -> ModelProto:
        """Return the graph of the trees, at least 0 W."""
        return graphs.clipped(booster_graph(self._json, features))

    @cached_property
    def _json(self) -> bytes:
        return _BASE_SCORE.sub(rb'\1\2"', bytes(self.booster.save_raw("json")), count=1)

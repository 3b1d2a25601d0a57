"""Trees of XGBoost, kept as its own JSON. Clipped at 0 W: the sum of leaves can be a little below all data."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models import graphs
from kepler_train.models.component import ComponentModel, Matrix, ModelClass, Watts
from kepler_train.models.tree_graphs import booster_graph

if TYPE_CHECKING:
    import xgboost
    from onnx import ModelProto

# Frames have some ten thousand rows, and several models are trained at once: a second thread costs ten times what it
# gives, because idle threads spin.
THREADS = 1


@dataclass(frozen=True)
class TreesModel(ComponentModel):
    """An XGBoost booster over unscaled features."""

    booster: xgboost.Booster

    kind: ClassVar[str] = "trees"
    model_class: ClassVar[ModelClass] = "xgboost"

    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""
        return np.maximum(np.asarray(self.booster.inplace_predict(X), dtype=np.float64), 0.0)

    def save(self, file: Path) -> None:
        """Write the booster's JSON."""
        file.write_bytes(self._json)

    @classmethod
    def load(cls, file: Path, features: int) -> TreesModel:
        """Return the booster that `save` wrote."""
        import xgboost

        booster = xgboost.Booster({"nthread": THREADS})
        try:
            booster.load_model(file)
        except (xgboost.core.XGBoostError, ValueError) as error:
            raise UserError(f"{file} is not a model of boosted trees: {str(error).splitlines()[0]}.") from None
        if booster.num_features() != features:
            raise UserError(f"{file} has trees over {booster.num_features()} features instead of {features}.")
        return cls(booster)

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
        return bytes(self.booster.save_raw("json"))

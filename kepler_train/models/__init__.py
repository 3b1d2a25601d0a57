"""The artifact: a power model as it is trained, saved, loaded and judged."""

from kepler_train.models.artifact import load_model, save_model
from kepler_train.models.component import ComponentModel, Matrix, Watts
from kepler_train.models.curve import CurveModel
from kepler_train.models.estimator import EstimatorModel
from kepler_train.models.fitted import Fitted, SubsetModel
from kepler_train.models.linear import LinearModel
from kepler_train.models.power import PowerModel
from kepler_train.models.trees import TreesModel

__all__ = [
    "ComponentModel",
    "CurveModel",
    "EstimatorModel",
    "Fitted",
    "LinearModel",
    "Matrix",
    "PowerModel",
    "SubsetModel",
    "TreesModel",
    "Watts",
    "load_model",
    "save_model",
]

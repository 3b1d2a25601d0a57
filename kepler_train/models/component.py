"""A model of one component: features in, watts out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from onnx import ModelProto

Matrix = npt.NDArray[np.float64]  # a row per window, a column per feature, unscaled (1/s)
Watts = npt.NDArray[np.float64]
# What clients of other tools call the ways to read a model; what they do not know is kepler-train's own.
ModelClass = Literal["scikit", "curvefit", "xgboost", "kepler-train"]


class ComponentModel(Protocol):
    """What every kind of model can do."""

    kind: ClassVar[str]  # the name in `kinds` that its file is read by
    suffix: ClassVar[str]  # of its file
    model_class: ClassVar[ModelClass]

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""

    def save(self, file: Path) -> None:
        """Write the model; loading it gives the same predictions and runs no code."""

    @classmethod
    def load(cls, file: Path, features: int) -> Self:
        """Read what `save` wrote for so many features; refuse anything else in one sentence."""

    def weights(self, features: list[str]) -> dict[str, Any] | None:
        """The entry of Kepler's weight file for this component; None when Kepler has no such model."""

    def graph(self, features: int) -> ModelProto:
        """The model as an ONNX graph (see `graphs`); NoGraph says why where there is none."""

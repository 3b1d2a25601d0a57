"""The model of one component: features in, watts out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from kepler_train.models.files import read_bytes

if TYPE_CHECKING:
    from onnx import ModelProto

Matrix = npt.NDArray[np.float64]  # a row per window, a column per feature, unscaled (1/s)
Vector = npt.NDArray[np.float64]  # a number per feature or per row, in any unit
Watts = npt.NDArray[np.float64]  # power (W) per row
# How clients of other tools read a model; `kepler-train` is what only we read.
ModelClass = Literal["scikit", "curvefit", "xgboost", "kepler-train"]


class ComponentModel(ABC):
    """The base class of all kinds of models."""

    kind: ClassVar[str]  # its name in the files of a model, see `kinds`
    suffix: ClassVar[str] = ".json"  # of its file
    model_class: ClassVar[ModelClass] = "kepler-train"

    @abstractmethod
    def predict(self, X: Matrix) -> Watts:
        """Return the power (W) of every row."""

    @abstractmethod
    def content(self) -> bytes:
        """Return the content of the model's file."""

    @classmethod
    @abstractmethod
    def read(cls, content: bytes, where: object, features: int) -> Self:
        """Return the model of a file's content, without running code from it.

        Refuse anything else than a model of that many features in one sentence that names `where`.
        """

    def save(self, file: Path) -> None:
        """Write the model to its file."""
        file.write_bytes(self.content())

    @classmethod
    def load(cls, file: Path, features: int) -> Self:
        """Return the model that `save` wrote; refuse a file of anything else in one sentence."""
        return cls.read(read_bytes(file), file, features)

    def weights(self, features: list[str]) -> dict[str, Any] | None:  # noqa: ARG002
        """Return the component's entry in Kepler's weight file; None where Kepler has no such model."""
        return None

    @abstractmethod
    def graph(self, features: int) -> ModelProto:
        """Return the model as an ONNX graph (see `graphs`), or raise NoGraph with the reason."""

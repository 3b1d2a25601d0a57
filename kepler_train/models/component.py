"""A model of one component: features in, watts out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]  # a row per window, a column per feature, unscaled (1/s)
Watts = npt.NDArray[np.float64]


class ComponentModel(Protocol):
    """What every kind of model can do."""

    def predict(self, X: Matrix) -> Watts:
        """Power (W) of every row."""

    def save(self, file: Path) -> None:
        """Write the model as JSON; loading it gives the same predictions and runs no code."""

    def weights(self, features: list[str]) -> dict[str, Any]:
        """The entry of Kepler's weight file for this component."""

"""Types of numpy arrays, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]  # of rows, windows, steps or scrapes

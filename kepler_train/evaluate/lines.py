"""The straight line that neither starts below 0 nor falls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def rising_line(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], *, intercept: bool = True
) -> tuple[float, float]:
    """Return start and slope of start + slope · x with the least squared error, both ≥ 0.

    Without intercept it starts at 0.
    """
    middle = float(x.mean()) if intercept else 0.0
    level = float(y.mean()) if intercept else 0.0
    spread = float((x - middle) @ (x - middle))
    slope = max(float((x - middle) @ (y - level)) / spread, 0.0) if spread else 0.0
    start = level - slope * middle
    return rising_line(x, y, intercept=False) if start < 0 else (start, slope)

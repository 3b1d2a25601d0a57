"""Fitting of curves that rise from at least 0 W: by variable projection (Golub and Pereyra 1973).

Every law is p·g(x) + q with a shape g of its own that rises from g(0) = 0 to g(1) = 1, where x is the feature divided
by its largest value. With p, q ≥ 0 the curve is never below 0 W for x ≥ 0, and it rises. Given the shape, the best p
and q are those of a straight line, so only the one or two numbers of the shape are searched for. Without intercept
q = 0: no work is 0 W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kepler_train.models import NarrowModel
from kepler_train.models.component import Watts
from kepler_train.models.curve import CurveModel, Law
from kepler_train.train.training_set import TrainingSet

Shape = Callable[[Watts, npt.NDArray[np.float64]], Watts]  # the numbers of a shape, and x
# The grid is tried on means of so many groups of rows with similar x, the search from its best point on all rows.
_GROUPS = 256


@dataclass(frozen=True)
class Line:
    """p·g + q, and the sum of its squared errors (W²)."""

    rise: float
    start: float
    error: float


def fit_curve(
    data: TrainingSet,
    law: Law,
    shape: Shape,
    grid: Sequence[npt.NDArray[np.float64]],
    parameters: Callable[[Watts, float, float], tuple[float, ...]],
) -> NarrowModel:
    """The curve of a law over the main feature; `grid` has the values to try for each number of the shape.

    `parameters` makes those of the law from the numbers of the shape, p and q.
    """
    column = data.X[:, data.main]
    scale = float(column.max(initial=0.0)) or 1.0
    x = column / scale
    if x.any():
        best = _search(x, data.y, data.intercept, shape, grid)
    else:  # the feature never moves, and so does the curve
        best = np.array([values[len(values) // 2] for values in grid])
    line = _line(shape(best, x), data.y, data.intercept)
    return NarrowModel((data.main,), CurveModel(law, parameters(best, line.rise, line.start), scale))


def _search(
    x: Watts, y: Watts, intercept: bool, shape: Shape, grid: Sequence[npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    """The numbers of the shape with the least squared error."""
    from scipy.optimize import minimize

    few_x, few_y, count = _groups(x, y)
    points = np.stack([values.ravel() for values in np.meshgrid(*grid, indexing="ij")], axis=1)
    errors = [_line(shape(point, few_x), few_y, intercept, count).error for point in points]
    found = minimize(
        lambda point: _line(shape(point, x), y, intercept).error,
        points[int(np.argmin(errors))],
        method="Nelder-Mead",
        bounds=[(values[0], values[-1]) for values in grid],
        options={"xatol": 1e-4, "fatol": 1e-9 * float(y @ y), "maxfev": 200},
    )
    return np.asarray(found.x)


def _groups(x: Watts, y: Watts) -> tuple[Watts, Watts, Watts]:
    """Means of x and y over groups of rows with neighbouring x, and the rows in each."""
    order = np.argsort(x, kind="stable")
    starts = np.unique(np.arange(_GROUPS) * len(x) // _GROUPS)
    count = np.diff(np.append(starts, len(x))).astype(np.float64)
    return np.add.reduceat(x[order], starts) / count, np.add.reduceat(y[order], starts) / count, count


def _line(g: Watts, y: Watts, intercept: bool, weight: Watts | None = None) -> Line:
    """The best p·g + q with p, q ≥ 0; `weight` is how many rows each one stands for.

    Where the best line of all has one of them below 0, the best of those allowed has it at 0.
    """

    def line(rise: float, start: float) -> Line:
        off = rise * g + start - y
        return Line(rise, start, float(off @ off if weight is None else weight @ off**2))

    weighted = g if weight is None else weight * g
    rows = float(len(g)) if weight is None else float(weight.sum())
    sum_y = float(y.sum() if weight is None else weight @ y)
    sum_g, gg, gy = float(weighted.sum()), float(weighted @ g), float(weighted @ y)
    slope = max(gy / gg, 0.0) if gg > 0 else 0.0
    if not intercept:
        return line(slope, 0.0)
    spread = gg - sum_g * sum_g / rows
    if spread > 1e-12 * gg:
        rise = (gy - sum_g * sum_y / rows) / spread
        start = (sum_y - rise * sum_g) / rows
        if rise >= 0 and start >= 0:
            return line(rise, start)
    return min(line(slope, 0.0), line(0.0, max(sum_y / rows, 0.0)), key=lambda found: found.error)

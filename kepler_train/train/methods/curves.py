"""Fitting of curves that rise from at least 0 W, by variable projection (Golub and Pereyra 1973).

Every law is p·g(x) + q with a shape g of its own that rises from g(0) = 0 to g(1) = 1, where x is the feature divided
by its largest value. With p, q ≥ 0 the curve is never below 0 W for x ≥ 0, and it rises. Given the shape, the best p
and q are those of a straight line, so only the one or two parameters of the shape are searched for. Without intercept
q = 0: no work is 0 W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kepler_train.models import SubsetModel
from kepler_train.models.component import Vector, Watts
from kepler_train.models.curve import CurveLaw, CurveModel
from kepler_train.train.training_set import TrainingSet

Shape = Callable[[Vector, Vector], Vector]  # g of the parameters of a shape, and x
# The grid is tried on the means of this many groups of rows with similar x, the search from its best point on all rows.
_GROUPS = 256


@dataclass(frozen=True)
class Line:
    """p·g + q: rise p (W), start q (W), and the sum of squared errors (W²)."""

    rise: float
    start: float
    error: float


def fit_curve(
    data: TrainingSet,
    law: CurveLaw,
    shape: Shape,
    grid: Sequence[Vector],
    parameters: Callable[[Vector, float, float], tuple[float, ...]],
) -> SubsetModel:
    """Return the curve of a law over the main feature.

    `grid` has the values to try for each parameter of the shape. `parameters` computes those of the law from those of
    the shape, p and q.
    """
    column = data.X[:, data.main]
    scale = float(column.max(initial=0.0)) or 1.0
    x = column / scale
    if x.any():
        best = _search(x, data.y, data.intercept, shape, grid)
    else:  # a feature that is always 0 tells no shape
        best = np.array([values[len(values) // 2] for values in grid])
    line = _fit_line(shape(best, x), data.y, data.intercept)
    return SubsetModel((data.main,), CurveModel(law, parameters(best, line.rise, line.start), scale))


def _search(x: Vector, y: Watts, intercept: bool, shape: Shape, grid: Sequence[Vector]) -> Vector:
    """Return the parameters of the shape with the least squared error."""
    from scipy.optimize import minimize

    mean_x, mean_y, count = _group_means(x, y)
    points = np.stack([values.ravel() for values in np.meshgrid(*grid, indexing="ij")], axis=1)
    errors = [_fit_line(shape(point, mean_x), mean_y, intercept, count).error for point in points]
    optimum = minimize(
        lambda point: _fit_line(shape(point, x), y, intercept).error,
        points[int(np.argmin(errors))],
        method="Nelder-Mead",
        bounds=[(values[0], values[-1]) for values in grid],
        options={"xatol": 1e-4, "fatol": 1e-9 * float(y @ y), "maxfev": 200},
    )
    return np.asarray(optimum.x)


def _group_means(x: Vector, y: Watts) -> tuple[Vector, Watts, Vector]:
    """Return the means of x and y over groups of rows with neighbouring x, and the rows in each group."""
    order = np.argsort(x, kind="stable")
    starts = np.unique(np.arange(_GROUPS) * len(x) // _GROUPS)
    count = np.diff(np.append(starts, len(x))).astype(np.float64)
    return np.add.reduceat(x[order], starts) / count, np.add.reduceat(y[order], starts) / count, count


def _fit_line(g: Vector, y: Watts, intercept: bool, weight: Vector | None = None) -> Line:
    """Return the best p·g + q with p, q ≥ 0; `weight` is how many rows each point stands for.

    Where the best line of all has p or q below 0, the best one allowed has it at 0. Two unknowns need no iteration:
    this takes half the CPU time of scipy's nnls, some hundred times per curve.
    """

    def line(rise: float, start: float) -> Line:
        residual = rise * g + start - y
        return Line(rise, start, float(residual @ residual if weight is None else weight @ residual**2))

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
    return min(line(slope, 0.0), line(0.0, max(sum_y / rows, 0.0)), key=lambda bounded: bounded.error)

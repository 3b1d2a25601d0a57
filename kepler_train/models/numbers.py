"""Numbers of a model's file: JSON numbers and nothing that only looks like one, finite and of a sane size."""

from __future__ import annotations

from typing import Any

import numpy as np

from kepler_train.models.component import Vector
from kepler_train.strict_json import shown

# Far beyond any rate (1/s) or power (W), and near enough to 0 that products of a few such numbers are finite.
LARGEST = 1e30
SMALLEST_SCALE = 1e-30  # what features are divided by


def number(value: Any, least: float = -LARGEST, most: float = LARGEST) -> float:
    """Return a number; raise ValueError where it is something else, or not between `least` and `most`."""
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in (int, float) or not least <= value <= most:
        raise ValueError(f"{shown(value)} is not a number from {least:g} to {most:g}")
    return float(value)


def whole(value: Any, least: int, most: int) -> int:
    """Return a whole number; raise ValueError where it is something else, or not between `least` and `most`."""
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{shown(value)} is not a whole number from {least} to {most}")
    return int(value)


def vector(values: Any, count: int, least: float = -LARGEST, most: float = LARGEST) -> Vector:
    """Return a list of `count` numbers as an array; raise ValueError where it is something else."""
    if type(values) is not list or len(values) != count:
        raise ValueError(f"{shown(values)} is not a list of {count} numbers")
    return np.array([number(value, least, most) for value in values], dtype=np.float64)


def check_array(values: Any, shape: tuple[int, ...], least: float = -LARGEST, most: float = LARGEST) -> Vector:
    """Return an array of that shape as it is; raise ValueError where it, or a number in it, is something else."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "if" or values.shape != shape:
        raise ValueError(f"an array of {' × '.join(map(str, shape))} numbers is something else")
    if values.size and not least <= values.min() <= values.max() <= most:  # also refuses NaN
        raise ValueError(f"a number is not from {least:g} to {most:g}")
    return values

"""The prediction interval of a component: predicted ± (constant + share · predicted), never below 0 W."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kepler_train.errors import UserError
from kepler_train.models.component import Watts


def apply_interval(interval: Mapping[str, Any], predicted: Watts) -> tuple[Watts, Watts]:
    """The lower and upper end (W) that hold the measured power with the interval's `level` of probability.

    `interval` is the entry of one component in a model's metadata: level, constant (W), share (of predicted power).
    """
    try:
        half = float(interval["constant"]) + float(interval["share"]) * predicted
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The interval of the model cannot be read: {error}.") from None
    return np.maximum(predicted - half, 0.0), predicted + half

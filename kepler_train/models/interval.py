"""The prediction interval of a component: predicted ± (constant + share · predicted), never below 0 W."""

from __future__ import annotations

import numpy as np

from kepler_train.models.component import Watts
from kepler_train.models.metadata import Interval


def apply_interval(interval: Interval, predicted: Watts) -> tuple[Watts, Watts]:
    """Return the lower and upper end (W) that hold the measured power with the interval's `level` of probability."""
    half = interval.constant + interval.share * predicted
    return np.maximum(predicted - half, 0.0), predicted + half

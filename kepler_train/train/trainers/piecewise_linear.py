"""Straight segments of each feature (W) that never fall, steeper at a higher clock where it is known.

Power rises steeply with the first work and slower later, which one line cannot follow. Beyond the data the last
segment goes on.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.models import ComponentModel
from kepler_train.models.component import Vector
from kepler_train.models.ramps import Ramp, RampModel
from kepler_train.train.methods.memoize import memoize_last
from kepler_train.train.methods.non_negative import EXTRAPOLATION, fit_ramps
from kepler_train.train.methods.scaling import max_scale
from kepler_train.train.methods.subsample import subsample
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet

CLOCK_FEATURE = "cpu_scaling_frequency_hertz"
# Shares of the largest value that are knots too: all quantiles of a machine that is mostly idle are near 0.
_EARLY = (0.02, 0.1)


class PiecewiseLinearTrainer(Trainer):
    """power = a + Σ slope · length within the segment, with slope ≥ 0; b + c·f + d·f² where the clock f is a feature.

    Dynamic power of CMOS is C·V²·f, and the voltage rises with the clock: the same work costs more at a higher one.
    """

    name = "PiecewiseLinearTrainer"

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> RampModel:
        """Return the segments with the least absolute error; without intercept, no work is 0 W."""
        return fit_piecewise_linear(data)


@memoize_last
def fit_piecewise_linear(data: TrainingSet) -> RampModel:
    """Return the model of PiecewiseLinearTrainer, which other trainers build on."""
    settings = catalog().trainer(PiecewiseLinearTrainer.name).settings
    data = subsample(data, settings["max_rows"])
    scale = max_scale(data.X)
    ramps = [
        Ramp(column, low, high, scale[column])
        for column in range(len(data.features))
        if scale[column] > 0
        for low, high in pairwise(_knots(data.X[:, column], scale[column], settings["pieces"]))
    ]
    terms: list[tuple[int, ...]] = [(number,) for number in range(len(ramps))]
    if CLOCK_FEATURE in data.features and scale[data.features.index(CLOCK_FEATURE)] > 0:
        clock = data.features.index(CLOCK_FEATURE)
        linear = Ramp(clock, 0.0, EXTRAPOLATION * scale[clock], scale[clock])
        work = [number for number, ramp in enumerate(ramps) if ramp.column != clock]
        terms += [(number, len(ramps) + power) for number in work for power in (0, 1)]
        ramps += [linear, linear._replace(power=2.0)]
    return fit_ramps(data, ramps, terms)


def _knots(x: Vector, scale: float, segments: int) -> list[float]:
    """Return where segments meet: 0, quantiles, and as far beyond the data as a trend is followed."""
    quantiles = np.quantile(x, np.linspace(0.0, 1.0, segments + 1)[1:-1])
    inner = np.unique([*quantiles, *(share * scale for share in _EARLY)])
    # A last segment that begins at the largest value has no rows to learn its slope from.
    return [0.0, *inner[(inner > 0) & (inner < 0.95 * scale)].tolist(), EXTRAPOLATION * scale]

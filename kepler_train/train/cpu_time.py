"""CPU time as the trivial model sees it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.evaluate.baselines import CPU_TIME_FEATURES
from kepler_train.models import Watts
from kepler_train.train.training_set import TrainingSet


def cpu_time_feature(frame: pd.DataFrame, data: TrainingSet) -> str:
    """Return the feature that counts CPU time, in whichever unit the frame has it; without any, the main feature."""
    complete = (name for name in CPU_TIME_FEATURES if name in frame.columns and not frame[name].isna().any())
    return next(complete, data.features[data.main])


def cpu_time(frame: pd.DataFrame, data: TrainingSet) -> Watts:
    """Return the value of `cpu_time_feature` in every row."""
    name = cpu_time_feature(frame, data)
    return data.X[:, data.main] if name == data.features[data.main] else frame[name].to_numpy(dtype=np.float64)

"""Which workload a window belongs to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kepler_train.collect.schedule import Schedule
from kepler_train.extract.counters import Floats

# A window in which the load changed, or that no phase covers: it belongs to no workload.
TRANSITION = ""


def label_windows(starts: Floats, ends: Floats, node: str, schedule: Schedule) -> npt.NDArray[np.object_]:
    """The load of the phase that holds each window whole; `TRANSITION` for the others."""
    labels = np.full(len(starts), TRANSITION, dtype=object)
    for phase in schedule.labelled():
        if phase.node in ("", node):
            labels[(starts >= phase.start.timestamp()) & (ends <= phase.end.timestamp())] = phase.load
    return labels

"""Workloads of windows, by the phases of a schedule."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kepler_train.arrays import Floats, Positions
from kepler_train.samples.schedule import Schedule

# A window in which the load changed, or that no phase covers: it belongs to no workload.
TRANSITION = ""


def phases_of(starts: Floats, ends: Floats, node: str, schedule: Schedule) -> Positions:
    """Return the number of the phase that holds each window whole, counted from 0; −1 for the others."""
    phases = np.full(len(starts), -1, dtype=np.intp)
    for number, phase in enumerate(schedule.labelled()):
        if phase.ran_on(node):
            phases[(starts >= phase.start.timestamp()) & (ends <= phase.end.timestamp())] = number
    return phases


def label_windows(starts: Floats, ends: Floats, node: str, schedule: Schedule) -> npt.NDArray[np.object_]:
    """Return the load of the phase that holds each window whole; `TRANSITION` for the others."""
    names = np.array([*(phase.load for phase in schedule.labelled()), TRANSITION], dtype=object)
    return np.asarray(names[phases_of(starts, ends, node, schedule)])

"""Which workload a window belongs to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kepler_train.collect.schedule import Schedule
from kepler_train.extract.counters import Floats

# A window in which the load changed, or that no phase covers: it belongs to no workload.
TRANSITION = ""


def label_windows(edges: Floats, node: str, schedule: Schedule) -> npt.NDArray[np.object_]:
    """The load of the phase that holds each window whole; `TRANSITION` for the others."""
    labels = np.full(len(edges) - 1, TRANSITION, dtype=object)
    for phase in schedule.labelled():
        if phase.node in ("", node):
            inside = (edges[:-1] >= phase.start.timestamp()) & (edges[1:] <= phase.end.timestamp())
            labels[inside] = phase.load
    return labels

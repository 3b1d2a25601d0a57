"""Ways to hold rows out. The further the held-out rows are from the rest, the more honest the error.

| protocol | held out | says |
|---|---|---|
| shuffled | random rows | comparable with other publications; too good, since neighbours in time stay in |
| blocked | contiguous blocks of time | error at another time under the same kinds of load |
| leave-one-workload-out | all rows of one load | error under a load that was never seen |
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.collect.schedule import IDLE

Rows = npt.NDArray[np.intp]


class Protocol(StrEnum):
    """How rows are held out."""

    SHUFFLED = "shuffled"
    BLOCKED = "blocked"
    WORKLOAD = "leave-one-workload-out"


def splits(protocol: Protocol, frame: pd.DataFrame, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Pairs of training rows and held-out rows, by position in a frame sorted by node and time."""
    everything = np.arange(len(frame))
    for held_out in _held_out(protocol, frame, folds, seed):
        yield np.setdiff1d(everything, held_out, assume_unique=True), held_out


def _held_out(protocol: Protocol, frame: pd.DataFrame, folds: int, seed: int) -> Iterator[Rows]:
    if protocol is Protocol.WORKLOAD:
        workloads = frame["workload"].to_numpy()
        # Every machine has idle rows, so no deployed model is without them.
        for workload in sorted(set(workloads) - {IDLE}):
            yield np.flatnonzero(workloads == workload)
        return
    order = np.arange(len(frame))
    if protocol is Protocol.SHUFFLED:
        order = np.random.default_rng(seed).permutation(order)
    yield from np.array_split(order, folds)


def workloads_or_blocks(frame: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Rows that belong to a workload; where no schedule is known, contiguous blocks of time stand for workloads."""
    frame = frame.sort_values(["node", "time"], ignore_index=True)
    known = frame["workload"] != ""
    if known.any():
        return frame[known].reset_index(drop=True)
    block = np.arange(len(frame)) * folds // max(len(frame), 1)
    return frame.assign(workload=[f"block {number + 1}" for number in block])

"""Where and when the rows of a frame are, and which of them belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.columns import times_of

Rows = npt.NDArray[np.intp]
"""Rows by position."""
# What stands for a workload where no schedule is known.
BLOCK = "block "


@dataclass(frozen=True)
class RowTimes:
    """Where and when the rows are, in order of node and time: numbers of nodes, times (s), workloads."""

    nodes: Rows
    times: npt.NDArray[np.float64]
    workloads: npt.NDArray[np.object_]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> RowTimes:
        """The windows of a frame that is sorted by node and time."""
        return cls(pd.factorize(frame["node"])[0], times_of(frame), frame["workload"].to_numpy(dtype=object))

    @property
    def seconds(self) -> float:
        """The length of a window: the usual step from a row of a node to the next; 0 where no node has two."""
        return usual_step(self.nodes, self.times)

    @property
    def place(self) -> npt.NDArray[np.float64]:
        """Where each row stands among those of its node, from 0 for the first to just below 1 for the last."""
        count = np.bincount(self.nodes)
        first = np.concatenate([[0], np.cumsum(count)[:-1]])
        return np.asarray((np.arange(len(self.nodes)) - first[self.nodes]) / count[self.nodes], dtype=np.float64)

    def blocks(self, folds: int) -> Rows:
        """The number of the contiguous block of time that each row is in; every node is cut alike."""
        return np.floor(self.place * folds + 1e-9).astype(np.intp)

    def near(self, held: Rows, gap: int) -> npt.NDArray[np.bool_]:
        """Which rows are within a gap of a held-out row of their node, or are one."""
        reach, found = (gap + 0.5) * self.seconds, np.zeros(len(self.times), dtype=bool)
        for node in np.unique(self.nodes[held]):
            own = np.flatnonzero(self.nodes == node)
            times = self.times[held[self.nodes[held] == node]]
            # The number of held-out rows at most `reach` away, before or after.
            found[own] = np.searchsorted(times, self.times[own] + reach, "right") > np.searchsorted(
                times, self.times[own] - reach, "left"
            )
        return found


def usual_step(nodes: Rows, times: npt.NDArray[np.float64]) -> float:
    """The median step (s) from a row of a node to the next, of rows in order; 0 where no node has two."""
    same = np.diff(nodes) == 0
    return float(np.median(np.diff(times)[same])) if same.any() else 0.0


def workloads_or_blocks(frame: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Rows that belong to a workload; where no schedule is known, contiguous blocks of time stand for workloads."""
    frame = frame.sort_values(["node", "time"], ignore_index=True)
    known = frame["workload"] != ""
    if known.any():
        return frame[known].reset_index(drop=True)
    return frame.assign(workload=[f"{BLOCK}{number + 1}" for number in RowTimes.of(frame).blocks(folds)])

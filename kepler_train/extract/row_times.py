"""Where and when the rows of a frame are, and which of them belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.arrays import Bools, Floats, Positions
from kepler_train.columns import INPUT, NODE, TIME, WORKLOAD, times_of

# Workloads are called so where no schedule is known.
BLOCK = "block "


@dataclass(frozen=True)
class RowTimes:
    """Node, time (s) and workload of rows that are sorted by node and time; nodes are numbered.

    `stretches` numbers the rows of a node that are from one query: a node has several where queries are put together.
    """

    nodes: Positions
    times: Floats
    workloads: npt.NDArray[np.object_]
    stretches: Positions

    @classmethod
    def of(cls, frame: pd.DataFrame) -> RowTimes:
        """Return those of a frame that is sorted by node and time."""
        nodes = pd.factorize(frame[NODE])[0]
        stretches = nodes
        if INPUT in frame.columns:
            changes = np.diff(nodes) != 0
            changes |= np.diff(pd.factorize(frame[INPUT])[0]) != 0
            stretches = np.concatenate([[0], np.cumsum(changes)]).astype(np.intp)
        return cls(nodes, times_of(frame), frame[WORKLOAD].to_numpy(dtype=object), stretches)

    @property
    def seconds(self) -> float:
        """Return the length of a window: the usual step from a row of a node to the next; 0 where no node has two."""
        return usual_step(self.stretches, self.times)

    @property
    def place(self) -> Floats:
        """Return where each row stands among those of its node, from 0 for the first to just below 1 for the last."""
        return _places(self.nodes)

    def blocks(self, folds: int) -> Positions:
        """Return the number of the contiguous block of time of each row; every node and every query is cut alike."""
        return np.floor(_places(self.stretches) * folds + 1e-9).astype(np.intp)

    def near(self, held_out: Positions, gap: int) -> Bools:
        """Return which rows are held out, or within `gap` windows of a held-out row of their node."""
        reach, near = (gap + 0.5) * self.seconds, np.zeros(len(self.times), dtype=bool)
        for node in np.unique(self.nodes[held_out]):
            rows = np.flatnonzero(self.nodes == node)
            times = self.times[held_out[self.nodes[held_out] == node]]
            # The number of held-out rows at most `reach` away, before or after.
            near[rows] = np.searchsorted(times, self.times[rows] + reach, "right") > np.searchsorted(
                times, self.times[rows] - reach, "left"
            )
        return near


def _places(groups: Positions) -> Floats:
    """Return where each row stands in its group, from 0 to just below 1; groups are numbered as they come."""
    count = np.bincount(groups)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    return np.asarray((np.arange(len(groups)) - first[groups]) / count[groups], dtype=np.float64)


def usual_step(nodes: Positions, times: Floats) -> float:
    """Return the median step (s) from a row of a node to the next, of rows in order; 0 where no node has two."""
    same = np.diff(nodes) == 0
    return float(np.median(np.diff(times)[same])) if same.any() else 0.0


def workloads_or_blocks(frame: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Return the rows that belong to a workload; where none does, all rows with blocks of time as workloads."""
    frame = frame.sort_values([NODE, TIME], ignore_index=True)
    known = frame[WORKLOAD] != ""
    if known.any():
        return frame[known].reset_index(drop=True)
    blocks = RowTimes.of(frame).blocks(folds)
    if INPUT in frame.columns:  # a block of one query is no block of another
        blocks = blocks + folds * pd.factorize(frame[INPUT])[0]
    return frame.assign(**{WORKLOAD: [f"{BLOCK}{number + 1}" for number in blocks]})

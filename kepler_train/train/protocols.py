"""Ways to hold rows out. The further the held-out rows are from the rest, the more honest the error.

| protocol | held out | says |
|---|---|---|
| shuffled | random rows | comparable with other publications; too good, since neighbours in time stay in |
| blocked | contiguous blocks of time | error at another time under the same kinds of load |
| leave-one-workload-out | all rows of one load, in whichever phases it ran | error under a load that was never seen |
| forward | the last 30 % of the rows of each node | error tomorrow, of what was learnt until today |

All but the first are purged: rows nearer than a gap to a held-out row of their node are in neither part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.collect.schedule import IDLE
from kepler_train.train.training_set import times_of

Rows = npt.NDArray[np.intp]

# Windows between training rows and held-out rows: what a meter or a fan still remembers, and more than any lag.
GAP = 4
# What stands for a workload where no schedule is known.
BLOCK = "block "
# The share of the rows of a node, the first ones, that forward in time learns from.
FORWARD = 0.7


class Protocol(StrEnum):
    """How rows are held out."""

    SHUFFLED = "shuffled"
    BLOCKED = "blocked"
    WORKLOAD = "leave-one-workload-out"
    FORWARD = "forward"


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to judge by, by position, and the protocols that cut the rows so."""

    protocols: tuple[Protocol, ...]
    inside: Rows
    outside: Rows


def all_splits(frame: pd.DataFrame, folds: int, seed: int, lags: int = 0) -> list[Split]:
    """Every split of every protocol; what two protocols cut alike is one split, to be fitted once."""
    found: dict[tuple[bytes, bytes], Split] = {}
    gap, windows = gap_of(len(frame), folds, lags), Windows.of(frame)
    for protocol in Protocol:
        for inside, outside in splits(protocol, windows, folds, seed, gap):
            key = inside.tobytes(), outside.tobytes()
            before = found[key].protocols if key in found else ()
            found[key] = Split((*before, protocol), inside, outside)
    return list(found.values())


def gap_of(rows: int, folds: int, lags: int = 0) -> int:
    """Windows of the gap: never fewer than the lags that a model looks back, and at most half a block."""
    return max(lags, min(GAP, rows // (2 * folds)))


@dataclass(frozen=True)
class Windows:
    """Where and when the rows are, in order of node and time: numbers of nodes, times (s), workloads."""

    nodes: Rows
    times: npt.NDArray[np.float64]
    workloads: npt.NDArray[np.object_]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Windows:
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


def splits(protocol: Protocol, windows: Windows, folds: int, seed: int, gap: int) -> Iterator[tuple[Rows, Rows]]:
    """Pairs of training rows and held-out rows, by position."""
    for outside in _held_out(protocol, windows, folds, seed):
        inside = np.ones(len(windows.times), dtype=bool)
        inside[outside] = False
        if protocol is not Protocol.SHUFFLED:
            inside &= ~windows.near(outside, gap)
        if inside.any() and len(outside):
            yield np.flatnonzero(inside), outside


def _held_out(protocol: Protocol, windows: Windows, folds: int, seed: int) -> Iterator[Rows]:
    if protocol is Protocol.WORKLOAD:
        # Every machine has idle rows, so no deployed model is without them.
        loads = sorted(set(windows.workloads) - {IDLE})
        # The only load there is cannot be told from no load at all.
        yield from (np.flatnonzero(windows.workloads == load) for load in loads if len(loads) > 1)
    elif protocol is Protocol.FORWARD:
        yield np.flatnonzero(windows.place >= FORWARD)
    elif protocol is Protocol.BLOCKED:
        block = windows.blocks(folds)
        yield from (np.flatnonzero(block == number) for number in np.unique(block))
    else:
        order = np.random.default_rng(seed).permutation(len(windows.times))
        yield from (part for part in np.array_split(order, folds) if len(part))


def workloads_or_blocks(frame: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Rows that belong to a workload; where no schedule is known, contiguous blocks of time stand for workloads."""
    frame = frame.sort_values(["node", "time"], ignore_index=True)
    known = frame["workload"] != ""
    if known.any():
        return frame[known].reset_index(drop=True)
    return frame.assign(workload=[f"{BLOCK}{number + 1}" for number in Windows.of(frame).blocks(folds)])

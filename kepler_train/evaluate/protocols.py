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
import pandas as pd

from kepler_train.arrays import Positions
from kepler_train.extract.row_times import RowTimes
from kepler_train.samples.schedule import IDLE

# Windows between training rows and held-out rows: what a meter or a fan still remembers, and more than any lag.
GAP = 4
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
    inside: Positions
    outside: Positions


def all_splits(frame: pd.DataFrame, folds: int, seed: int, lags: int = 0) -> list[Split]:
    """Return every split of every protocol; what two protocols cut alike is one split, to be fitted once."""
    by_rows: dict[tuple[bytes, bytes], Split] = {}
    gap, windows = gap_of(len(frame), folds, lags), RowTimes.of(frame)
    for protocol in Protocol:
        for inside, outside in splits(protocol, windows, folds, seed, gap):
            key = inside.tobytes(), outside.tobytes()
            before = by_rows[key].protocols if key in by_rows else ()
            by_rows[key] = Split((*before, protocol), inside, outside)
    return list(by_rows.values())


def gap_of(rows: int, folds: int, lags: int = 0) -> int:
    """Return the windows of the gap: never fewer than the lags of a model, and else at most half a block."""
    return max(lags, min(GAP, rows // (2 * folds)))


def splits(
    protocol: Protocol, windows: RowTimes, folds: int, seed: int, gap: int
) -> Iterator[tuple[Positions, Positions]]:
    """Yield pairs of training rows and held-out rows, by position."""
    for outside in _held_out(protocol, windows, folds, seed):
        inside = np.ones(len(windows.times), dtype=bool)
        inside[outside] = False
        if protocol is not Protocol.SHUFFLED:
            inside &= ~windows.near(outside, gap)
        if inside.any() and len(outside):
            yield np.flatnonzero(inside), outside


def _held_out(protocol: Protocol, windows: RowTimes, folds: int, seed: int) -> Iterator[Positions]:
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

"""Features of earlier windows as columns of a row: `cpu_cycles@-1` is the feature one window before.

Meters and counters are not read at the same moment, so power follows work, or work power, by a part of a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

MARK = "@-"
# Windows that are further apart than so many usual ones have a gap between them.
_CONTIGUOUS = 1.5


def lagged_names(features: Sequence[str], lags: int) -> list[str]:
    """The features, then each of them one window before, then two, and so on."""
    return [*features, *(f"{feature}{MARK}{lag}" for lag in range(1, lags + 1) for feature in features)]


def without_lag(name: str) -> str:
    """The feature that a column of an earlier window is of."""
    return name.partition(MARK)[0]


def lags_of(names: Iterable[str]) -> int:
    """How many windows back these columns reach."""
    return max((int(name.partition(MARK)[2]) for name in names if MARK in name), default=0)


def with_lags(frame: pd.DataFrame, features: Sequence[str], lags: int) -> pd.DataFrame:
    """The frame with columns `<feature>@-1` … of the windows before each row of its node.

    A row that has no window right before it - the first of a node, after a gap, or in a frame without `time` and
    `node` - is taken as one whose load was the same before.
    """
    before = _rows_before(frame)
    rows = np.arange(len(frame))
    columns: dict[str, npt.NDArray[np.float64]] = {}
    for lag in range(1, lags + 1):
        rows = before[rows]
        columns |= {f"{name}{MARK}{lag}": frame[name].to_numpy(dtype=np.float64)[rows] for name in features}
    return frame.assign(**columns)


def _rows_before(frame: pd.DataFrame) -> npt.NDArray[np.intp]:
    """For each row the position of the window right before it; its own where there is none."""
    own = np.arange(len(frame))
    if len(frame) < 2 or not {"time", "node"} <= set(frame.columns):
        return own
    nodes = pd.factorize(frame["node"])[0]
    times = (frame["time"] - frame["time"].iloc[0]).dt.total_seconds().to_numpy()
    order = np.lexsort((times, nodes))
    step, same = np.diff(times[order]), np.diff(nodes[order]) == 0
    if not (same & (step > 0)).any():
        return own
    usual = np.median(step[same & (step > 0)])
    follows = same & (step > 0) & (step <= _CONTIGUOUS * usual)
    own[order[1:][follows]] = order[:-1][follows]
    return own

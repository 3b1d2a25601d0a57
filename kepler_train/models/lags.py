"""Features of earlier windows as columns of a row: `cpu_cycles@-1` is the feature one window before.

Meters and counters are not read at the same moment, so power lags work, or work lags power, by a part of a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kepler_train.columns import NODE, TIME
from kepler_train.strict_json import name_problem, shown

if TYPE_CHECKING:  # the names of columns are asked for where pandas is not needed
    import pandas as pd

MARK = "@-"
MOST_FEATURES = 1000  # of a component
MOST_LAGS = 100  # windows back that a model may look; ours look up to 2 back
# Windows further apart than this many times the usual distance have a gap between them.
_CONTIGUOUS = 1.5


def lagged_names(features: Sequence[str], lags: int) -> list[str]:
    """Return the features, then each of them one window before, then two, and so on."""
    return [*features, *(f"{feature}{MARK}{lag}" for lag in range(1, lags + 1) for feature in features)]


def without_lag(name: str) -> str:
    """Return the feature of a lagged column."""
    return name.partition(MARK)[0]


def lags_of(names: Iterable[str]) -> int:
    """Return how many windows back these columns reach."""
    return max((int(name.partition(MARK)[2]) for name in names if MARK in name), default=0)


def feature_problem(name: object) -> str | None:
    """Return why something is no feature's name, of this window or an earlier one, as a part of a sentence."""
    if problem := name_problem(name):
        return problem
    _, mark, lag = str(name).partition(MARK)
    if mark and not (lag.isascii() and lag.isdigit() and 1 <= int(lag) <= MOST_LAGS):
        return f"{shown(name)} is of no window: after {MARK} a number up to {MOST_LAGS} is expected"
    return None


def with_lags(frame: pd.DataFrame, features: Sequence[str], lags: int) -> pd.DataFrame:
    """Return the frame with columns `<feature>@-1` … of the windows before each row of its node.

    A row without a window right before it - the first of a node, after a gap, or in a frame without `time` and
    `node` - is given its own features: its load is assumed to have been the same before.
    """
    previous = _previous_rows(frame)
    rows = np.arange(len(frame))
    columns: dict[str, npt.NDArray[np.float64]] = {}
    for lag in range(1, lags + 1):
        rows = previous[rows]
        columns |= {f"{name}{MARK}{lag}": frame[name].to_numpy(dtype=np.float64)[rows] for name in features}
    return frame.assign(**columns)


def _previous_rows(frame: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Return for each row the position of the window right before it; its own position where there is none."""
    import pandas as pd

    previous = np.arange(len(frame))
    if len(frame) < 2 or not {TIME, NODE} <= set(frame.columns):
        return previous
    nodes = pd.factorize(frame[NODE])[0]
    times = (frame[TIME] - frame[TIME].iloc[0]).dt.total_seconds().to_numpy()
    order = np.lexsort((times, nodes))
    step = np.diff(times[order])
    same_node = (np.diff(nodes[order]) == 0) & (step > 0)
    if not same_node.any():
        return previous
    follows = same_node & (step <= _CONTIGUOUS * np.median(step[same_node]))
    previous[order[1:][follows]] = order[:-1][follows]
    return previous

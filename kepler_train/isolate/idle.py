"""The idle window of a node: the idle phases of the schedule, else the quietest stretch of history."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from kepler_train.columns import NODE, TIME, WORKLOAD
from kepler_train.errors import DataError
from kepler_train.samples.schedule import IDLE

# Idle phases of the schedule, the quietest stretch of history, or all of a query that was made at idle.
IdleSource = Literal["schedule", "history", "query"]


def idle_rows(rows: pd.DataFrame, main: str, seconds: float) -> tuple[pd.DataFrame, IdleSource]:
    """Return idle rows of one node, `seconds` of them at least, and where they come from.

    A stretch is quiet by the work done in it (the mean of the feature `main`), not by its power: the stretch of least
    power is the one in which the meter happened to err downwards, and its mean is too low.
    """
    rows = rows.sort_values(TIME, ignore_index=True)
    step = window_seconds(rows)
    scheduled = rows[rows[WORKLOAD] == IDLE]
    if len(scheduled) * step >= seconds:
        return scheduled, "schedule"
    needed = max(int(np.ceil(seconds / step - 1e-9)), 1)
    stretch = (rows[TIME].diff().dt.total_seconds() > 1.5 * step).cumsum()
    work = rows[main].groupby(stretch).rolling(needed).mean().droplevel(0).sort_index()
    if work.isna().all():
        node = rows[NODE].iloc[0]
        raise DataError(f"Node {node} has no {seconds:g} s without a gap: ask for less idle time or a longer window.")
    last = int(np.nanargmin(work.to_numpy()))
    return rows.iloc[last - needed + 1 : last + 1], "history"


def window_seconds(rows: pd.DataFrame) -> float:
    """Return the usual length of a row's window (s)."""
    steps = rows[TIME].diff().dt.total_seconds().dropna()
    if steps.empty:
        raise DataError(f"Node {rows[NODE].iloc[0]} has a single row: too little to tell when it was idle.")
    return float(steps.median())

"""Workloads of a frame that a user gives: the phases of a schedule that hold its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kepler_train.columns import times_of
from kepler_train.errors import UserError
from kepler_train.extract.given import Given
from kepler_train.extract.row_times import RowTimes
from kepler_train.extract.workloads import TRANSITION, label_windows
from kepler_train.samples.schedule import Schedule


def with_workloads(given: Given, schedule: Schedule, about: Mapping[str, Any]) -> Given:
    """Rows that have the load of the phase that holds their window whole, as extraction labels it."""
    if (given.rows["workload"] != TRANSITION).any():
        raise UserError("The frame has workloads of its own: leave out --schedule, or its column workload.")
    windows = given.rows[["node", "time", "workload"]].drop_duplicates().sort_values(["node", "time"])
    seconds = float(about.get("window_seconds") or 0) or RowTimes.of(windows).seconds
    ends = times_of(given.rows)
    labels = np.full(len(ends), TRANSITION, dtype=object)
    for node in given.rows["node"].unique():
        own = (given.rows["node"] == node).to_numpy()
        labels[own] = label_windows(ends[own] - seconds, ends[own], node, schedule)
    if not (labels != TRANSITION).any():
        first, last = (f"{time:%Y-%m-%d %H:%M:%S}" for time in (given.rows["time"].min(), given.rows["time"].max()))
        raise UserError(
            f"No row of the frame, from {first} to {last} UTC, lies in a phase of the schedule: name that of its time."
        )
    return replace(given, rows=given.rows.assign(workload=labels))

"""Columns of frames: their names, and what is read from them. Every frame of extraction and isolation has these."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names are asked for where numpy and pandas are not needed
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

TIME, NODE, WORKLOAD, CONTAINER = "time", "node", "workload", "container"
_POWER = "_power"


def power_column(source: str, component: str) -> str:
    """Return the column of the power (W) of a component, as an energy source measures it."""
    return f"{source}/{component}{_POWER}"


def power_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a frame that hold power (W)."""
    return [name for name in frame.columns if "/" in name and name.endswith(_POWER)]


def times_of(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return when the window of each row ended (s since 1970)."""
    times: npt.NDArray[np.float64] = frame[TIME].to_numpy(dtype="datetime64[ns]").astype("int64") / 1e9
    return times

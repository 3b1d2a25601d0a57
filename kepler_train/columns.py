"""Columns of frames: their names, and what is read from them. Every frame of extraction and isolation has these."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names are asked for where numpy and pandas are not needed
    import pandas as pd

    from kepler_train.arrays import Floats

TIME, NODE, WORKLOAD, CONTAINER = "time", "node", "workload", "container"
INPUT = "input"  # the query that a row is from, where there are several
POWER = "_power"
TIMESTAMP, CONTAINER_ID = "timestamp", "id"  # time (Unix s) and container in tables for other tools


def power_column(source: str, component: str) -> str:
    """Return the column of the power (W) of a component, as an energy source measures it."""
    return f"{source}/{component}{POWER}"


def is_power(column: str) -> bool:
    """Tell whether a column holds power (W)."""
    return column.endswith(POWER)


def power_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a frame that hold power (W)."""
    return [name for name in frame.columns if "/" in name and is_power(name)]


def feature_columns(node: pd.DataFrame) -> list[str]:
    """Return the columns of a node frame that hold features (1/s)."""
    return [name for name in node.columns if name not in (TIME, NODE, WORKLOAD, INPUT, *power_columns(node))]


def meter_of(power: str) -> str:
    """Return `<source>/<component>` of a power column."""
    return power.removesuffix(POWER)


def component_of(power: str) -> str:
    """Return the component of a power column."""
    return meter_of(power).partition("/")[2]


def times_of(frame: pd.DataFrame) -> Floats:
    """Return when the window of each row ended (s since 1970)."""
    times: Floats = frame[TIME].to_numpy(dtype="datetime64[ns]").astype("int64") / 1e9
    return times

"""Frames that a user gives, of other tools or earlier versions: CSV or Parquet, read as rows of nodes and containers.

A frame has a column of times (`timestamp`, Unix s), features (1/s) and `<component>_power` (W), and may have `node`,
`id` (a container) and `workload`. Columns of features by an older name get today's name and unit.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.catalog import catalog
from kepler_train.columns import (
    CONTAINER,
    CONTAINER_ID,
    NODE,
    POWER,
    TIME,
    TIMESTAMP,
    WORKLOAD,
    component_of,
    power_column,
    times_of,
)
from kepler_train.errors import DataError, UserError
from kepler_train.events import warn
from kepler_train.extract.frame_metadata import unreadable
from kepler_train.extract.row_times import RowTimes
from kepler_train.extract.training_table import NODE_TYPE
from kepler_train.extract.workloads import TRANSITION, label_windows
from kepler_train.samples.schedule import Schedule
from kepler_train.validate.meter_health import MOST_OF_MACHINE

# The container of rows in a frame without containers.
ALL_CONTAINERS = "all containers"
_LABELS = (TIMESTAMP, TIME, NODE, CONTAINER, CONTAINER_ID, WORKLOAD)
# Columns of earlier files that are neither features nor power.
_NO_FEATURES = (NODE_TYPE, "Unnamed: 0", "index")
_RATIO = "packge_ratio_"
# Later times are not in Unix seconds, but perhaps in ms.
_LATEST = pd.Timestamp("2200-01-01", tz="UTC")
# What pandas and Arrow raise for broken files, the latter also for columns that they do not know. Of the metadata that
# pandas keeps in Parquet any key may be missing, any value of another type, and all nested without end.
_UNREADABLE = (
    *(ValueError, OSError, pa.ArrowException, KeyError, TypeError),
    *(AttributeError, IndexError, OverflowError, RecursionError),
)
# Values of one quantity may differ by so much, as a share of it, when they were written as text.
_SAME = 1e-6


@dataclass(frozen=True)
class UserFrame:
    """Rows of containers: `time`, `node`, `container`, `workload`, features and `<source>/<component>_power`.

    `node_types` are those in the rows, with NaN where some rows have none.
    """

    rows: pd.DataFrame
    features: list[str]
    power: list[str]
    has_containers: bool
    node_types: list[float]

    def is_of_whole_nodes(self) -> bool:
        """Return whether containers that share a window all have one power, which is then that of their node."""
        return bool(self.power) and bool(self.rows.duplicated([TIME, NODE]).any()) and self._same_power()

    def _same_power(self) -> bool:
        watts = self.rows.groupby([TIME, NODE])[self.power]
        most = watts.max()
        return bool((most - watts.min() <= _SAME * (1 + most.abs())).all(axis=None))

    def whole(self) -> pd.DataFrame:
        """Return rows of nodes, where each row of a container has the power of its whole node."""
        nodes = self._by_window("first")
        if not self._same_power():
            raise DataError(
                "Containers of the frame have power of their own: it is isolated already, and can be trained on as"
                " DynPower."
            )
        return nodes

    def summed(self) -> pd.DataFrame:
        """Return rows of nodes, where each row of a container has its share of the power."""
        return self._by_window("sum")

    def _by_window(self, power: str) -> pd.DataFrame:
        aggregation = {WORKLOAD: "first"}
        aggregation |= {name: "sum" if catalog().adds_up(name) else "first" for name in self.features}
        aggregation |= dict.fromkeys(self.power, power)
        return self.rows.groupby([TIME, NODE], sort=True).agg(aggregation).reset_index()


def read_user_frame(file: Path, source: str, machine: str, *, measured: bool = True) -> UserFrame:
    """Read a frame; `machine` names the node of rows without one. Unless `measured`, power may be missing."""
    frame = _read(file)
    time = next((name for name in (TIMESTAMP, TIME) if name in frame.columns), None)
    if time is None:
        raise UserError(f"{file} has no column {TIMESTAMP}: it is not a frame of training rows.")
    power = _columns_of_power(frame, source)
    if measured and not power:
        components = ", ".join(f"{name}{POWER}" for name in catalog().source(source).components)
        raise DataError(f"{file} has no power of {source}: none of its columns is {components}.")
    features = _feature_values(frame)
    container = _container_column(frame, file)
    rows = pd.DataFrame(
        {
            TIME: _times(frame[time], file),
            NODE: _names(frame[NODE], machine or "node") if NODE in frame else machine or "node",
            CONTAINER: frame[container].astype(str) if container else ALL_CONTAINERS,
            WORKLOAD: frame[WORKLOAD].fillna("").astype(str) if WORKLOAD in frame else "",
        }
        | features
        | {column: _numbers(frame[name]) for name, column in power.items()}
    )
    _check_watts(rows, power, file)
    if measured:
        rows = _measured(rows, list(power.values()), file)
    if rows.duplicated([TIME, NODE, CONTAINER]).any():
        raise DataError(f"{file} has several rows of one {'container' if container else 'node'} at one time.")
    return UserFrame(rows, sorted(features), list(power.values()), container is not None, _node_types(frame))


def with_scheduled_workloads(frame: UserFrame, schedule: Schedule, metadata: Mapping[str, Any]) -> UserFrame:
    """Return the frame with the load of the phase that holds each row's window whole, as extraction labels it."""
    rows = frame.rows
    if (rows[WORKLOAD] != TRANSITION).any():
        raise UserError("The frame has workloads of its own: leave out --schedule, or its column workload.")
    windows = rows[[NODE, TIME, WORKLOAD]].drop_duplicates().sort_values([NODE, TIME])
    seconds = float(metadata.get("window_seconds") or 0) or RowTimes.of(windows).seconds
    ends = times_of(rows)
    labels = np.full(len(ends), TRANSITION, dtype=object)
    for node, places in rows.groupby(NODE).indices.items():
        labels[places] = label_windows(ends[places] - seconds, ends[places], str(node), schedule)
    if not (labels != TRANSITION).any():
        first, last = (f"{time:%Y-%m-%d %H:%M:%S}" for time in (rows[TIME].min(), rows[TIME].max()))
        raise UserError(
            f"No row of the frame, from {first} to {last} UTC, lies in a phase of the schedule: name that of its time."
        )
    return replace(frame, rows=rows.assign(**{WORKLOAD: labels}))


def _container_column(frame: pd.DataFrame, file: Path) -> str | None:
    """Return the column of containers, None where it is absent or empty; refuse one that some rows have no value in."""
    name = next((name for name in (CONTAINER_ID, CONTAINER) if name in frame.columns), None)
    missing = int(frame[name].isna().sum()) if name else 0
    if name is None or (missing == len(frame) and missing):
        return None
    if missing:
        raise DataError(
            f"{file}: {missing} of {len(frame)} rows have no {name}, which is the container: name it in every row, or"
            " leave these rows out."
        )
    return name


def _names(column: pd.Series[str], default: str) -> pd.Series[str]:
    """Return names as text, and the default where there is none."""
    return column.astype(object).where(column.notna(), default).astype(str)


def _numbers(column: pd.Series[Any]) -> pd.Series[float]:
    """Return a column as numbers, and NaN for what is none: also for True and False."""
    if pd.api.types.is_bool_dtype(column):
        return pd.Series(np.nan, index=column.index)
    try:
        return pd.to_numeric(column, errors="coerce")
    except (TypeError, ValueError, OverflowError):  # lists and the like
        return pd.Series(np.nan, index=column.index)


def _read(file: Path) -> pd.DataFrame:
    try:
        _refuse_repeated_columns(file)
        return pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
    except FileNotFoundError:
        raise UserError(f"There is no frame {file}: name a .csv or .parquet file.") from None
    except (*_UNREADABLE, csv.Error) as error:
        raise unreadable(file, error) from None


def _refuse_repeated_columns(file: Path) -> None:
    """Refuse columns of one name: which of them is meant cannot be told, and pandas would number them."""
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8-sig") as content:
            names = next(csv.reader(content), [])
    else:
        names = pq.read_schema(file).names
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise UserError(f"{file} has several columns of one name: {', '.join(repeated)}. Leave one of each.")


def _times(column: pd.Series[float], file: Path) -> pd.Series[pd.Timestamp]:
    numeric = pd.api.types.is_numeric_dtype(column)
    try:
        times = pd.to_datetime(column, utc=True, unit="s" if numeric else None, format=None if numeric else "ISO8601")
    except (ValueError, OverflowError, TypeError):
        times = pd.Series([pd.NaT])
    if times.isna().any():
        raise UserError(f"{file}: {column.name} has values that are not times.")
    if (times > _LATEST).any():
        raise UserError(f"{file}: {column.name} reaches {column.max()}, which is no Unix time in seconds: divide it.")
    return times


def _node_types(frame: pd.DataFrame) -> list[float]:
    """Return the node types in a frame; earlier tools write -1 for an unknown one."""
    if NODE_TYPE not in frame:
        return []
    numbers = _numbers(frame[NODE_TYPE])
    known = numbers.where(numbers >= 0)
    return [float(number) for number in known.unique()] if known.notna().any() else []


def _columns_of_power(frame: pd.DataFrame, source: str) -> dict[str, str]:
    """Return the columns of power, with their names in our frames."""
    columns = [power_column(source, component) for component in catalog().source(source).components]
    by_name = {column: (column, f"{component_of(column)}{POWER}") for column in columns}
    present = {column: [name for name in names if name in frame.columns] for column, names in by_name.items()}
    return {names[0]: column for column, names in present.items() if names}


def _feature_values(frame: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """Return every other column of numbers, by today's name and in today's unit.

    In a column of a known feature, words are missing values.
    """
    features: dict[str, pd.Series[float]] = {}
    aliases = catalog().feature_aliases
    known = {*aliases, *(name for names in catalog().feature_sets.values() for name in names)}
    for name in map(str, frame.columns):
        if name in (*_LABELS, *_NO_FEATURES) or name.startswith(_RATIO) or name.endswith(POWER):
            continue
        kind = frame[name].dtype
        numeric = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        if not numeric and name not in known:
            continue
        alias, numbers = aliases.get(name), _numbers(frame[name])
        if alias is None:
            features[name] = numbers
        elif alias.feature not in frame.columns:
            features[alias.feature] = numbers * alias.factor
    return features


def _check_watts(rows: pd.DataFrame, power: Mapping[str, str], file: Path) -> None:
    """Refuse power that no machine takes: it is in another unit, or broken."""
    for name, column in power.items():
        beyond = rows.loc[rows[column] > MOST_OF_MACHINE, column]
        if len(beyond):
            raise DataError(
                f"{file}: {name} is above {MOST_OF_MACHINE:,.0f} W, which no machine takes, in {len(beyond)} of"
                f" {len(rows)} rows, and reaches {beyond.max():g} W: check its unit, or leave these rows out."
            )


def _measured(rows: pd.DataFrame, power: list[str], file: Path) -> pd.DataFrame:
    """Return the rows with a power of 0 W or more in every component."""
    measured = (rows[power] >= 0).all(axis=1)  # False also for NaN
    if not measured.any():
        raise DataError(f"{file} has no row with power.")
    if not measured.all():
        warn(f"{file}: {(~measured).sum()} of {len(rows)} rows have no power, or less than 0 W, and are left out.")
    return rows[measured].reset_index(drop=True)

"""Frames that somebody else wrote, or an earlier version: CSV or Parquet, read back as rows of nodes and containers.

A frame has a column of times (`timestamp`, Unix s), features (1/s) and `<component>_power` (W), and may have `node`,
`id` (a container) and `workload`. Columns of features by an older name get today's name and unit.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.catalog import catalog
from kepler_train.errors import DataError, UserError
from kepler_train.events import warn
from kepler_train.extract.table import CONTAINER, TIMESTAMP
from kepler_train.validate.power import MOST_OF_MACHINE

# A frame without containers is one of everything that ran.
ALL_CONTAINERS = "all containers"
# Columns of earlier files that are neither features nor power.
_NODE_TYPE = "node_type"
_NO_FEATURES = (_NODE_TYPE, "Unnamed: 0", "index")
_RATIO = "packge_ratio_"
# Times after this are no Unix seconds; those in ms are.
_LATEST = pd.Timestamp("2200-01-01", tz="UTC")
# Values of one quantity may differ by so much, as a share of it, when they were written as text.
_SAME = 1e-6
_LABELS = ["time", "node", "container", "workload"]


@dataclass(frozen=True)
class Given:
    """Rows of containers: `time`, `node`, `container`, `workload`, features and `<source>/<component>_power`.

    `node_types` are those that rows name, NaN for rows that name none where others do.
    """

    rows: pd.DataFrame
    features: list[str]
    power: list[str]
    has_containers: bool
    node_types: list[float]

    def is_of_whole_nodes(self) -> bool:
        """Whether containers that share a window all have one power, which is then that of their node."""
        windows = self.rows.groupby(["time", "node"])
        return bool(self.power) and bool((windows.size() > 1).any()) and self._same_power()

    def _same_power(self) -> bool:
        watts = self.rows.groupby(["time", "node"])[self.power]
        most = watts.max()
        return bool((most - watts.min() <= _SAME * (1 + most.abs())).all(axis=None))

    def whole(self) -> pd.DataFrame:
        """Rows of nodes, where each row of a container has the power of its whole node."""
        found = self._by_window(dict.fromkeys(self.power, "first"))
        if not self._same_power():
            raise DataError(
                "Containers of the frame have power of their own: it is isolated already, and can be trained on as"
                " DynPower."
            )
        return found

    def summed(self) -> pd.DataFrame:
        """Rows of nodes, where each row of a container has its share of the power."""
        return self._by_window(dict.fromkeys(self.power, "sum"))

    def _by_window(self, power: dict[str, str]) -> pd.DataFrame:
        how = {"workload": "first"}
        how |= {
            name: "sum" if all(one.share_by for one in catalog().of_node(name)) else "first" for name in self.features
        }
        return self.rows.groupby(["time", "node"], sort=True).agg(how | power).reset_index()


def read_given(file: Path, source: str, machine: str, *, measured: bool = True) -> Given:
    """Read a frame; `machine` names the node of rows that name none. Unless `measured`, power need not be there."""
    frame = _read(file)
    time = next((name for name in (TIMESTAMP, "time") if name in frame.columns), None)
    if time is None:
        raise UserError(f"{file} has no column {TIMESTAMP}: it is not a frame of training rows.")
    power = _power_columns(frame, source)
    if measured and not power:
        components = ", ".join(f"{name}_power" for name in catalog().source(source).components)
        raise DataError(f"{file} has no power of {source}: none of its columns is {components}.")
    features = _features(frame, [time])
    container = next((name for name in (CONTAINER, "container") if name in frame.columns), None)
    rows = pd.DataFrame(
        {
            "time": _times(frame[time], file),
            "node": _named(frame["node"], machine or "node") if "node" in frame else machine or "node",
            "container": frame[container].astype(str) if container else ALL_CONTAINERS,
            "workload": frame["workload"].fillna("").astype(str) if "workload" in frame else "",
        }
        | features
        | {column: pd.to_numeric(frame[name], errors="coerce") for name, column in power.items()}
    )
    _check_watts(rows, power, file)
    if measured:
        rows = _measured(rows, list(power.values()), file)
    if rows.duplicated(["time", "node", "container"]).any():
        raise DataError(f"{file} has several rows of one {'container' if container else 'node'} at one time.")
    return Given(rows, sorted(features), list(power.values()), container is not None, _node_types(frame))


def _named(column: pd.Series[str], otherwise: str) -> pd.Series[str]:
    """Names as text; where there is none, the other one."""
    return column.astype(object).where(column.notna(), otherwise).astype(str)


def _read(file: Path) -> pd.DataFrame:
    try:
        _check_names(file)
        return pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
    except FileNotFoundError:
        raise UserError(f"There is no frame {file}: name a .csv or .parquet file.") from None
    except (ValueError, OSError, pa.ArrowInvalid, csv.Error) as error:
        raise unreadable(file, error) from None


def _check_names(file: Path) -> None:
    """Refuse columns of one name: which of them is meant cannot be told, and pandas would number them."""
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8-sig") as content:
            names = next(csv.reader(content), [])
    else:
        names = pq.read_schema(file).names
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise UserError(f"{file} has several columns of one name: {', '.join(twice)}. Leave one of each.")


def unreadable(file: Path, error: Exception) -> UserError:
    """What to say of a file that is not what its name says."""
    kind = "CSV" if file.suffix == ".csv" else "Parquet"
    return UserError(f"{file} is cut short or not {kind}: {str(error).splitlines()[0].rstrip('.')}.")


def _times(column: pd.Series[float], file: Path) -> pd.Series[pd.Timestamp]:
    try:
        if pd.api.types.is_numeric_dtype(column):
            times = pd.to_datetime(column, unit="s", utc=True)
        else:
            times = pd.to_datetime(column, format="ISO8601", utc=True)
    except (ValueError, OverflowError):
        raise UserError(f"{file}: {column.name} has values that are not times.") from None
    if times.isna().any():
        raise UserError(f"{file}: {column.name} has values that are not times.")
    if (times > _LATEST).any():
        raise UserError(f"{file}: {column.name} reaches {column.max()}, which is no Unix time in seconds: divide it.")
    return times


def _node_types(frame: pd.DataFrame) -> list[float]:
    """The node types in a frame; earlier tools write -1 for one that is not known."""
    if _NODE_TYPE not in frame:
        return []
    numbers = pd.to_numeric(frame[_NODE_TYPE], errors="coerce")
    known = numbers.where(numbers >= 0)
    return [float(number) for number in known.unique()] if known.notna().any() else []


def _power_columns(frame: pd.DataFrame, source: str) -> dict[str, str]:
    """The columns of power, with their names in our frames."""
    found: dict[str, str] = {}
    for component in catalog().source(source).components:
        column = f"{source}/{component}_power"
        for name in (column, f"{component}_power"):
            if name in frame.columns:
                found.setdefault(name, column)
                break
    return found


def _features(frame: pd.DataFrame, labels: list[str]) -> dict[str, pd.Series[float]]:
    """Every other column of numbers, by today's name and in today's unit.

    In a column of a feature that is known, words are values that are missing.
    """
    found: dict[str, pd.Series[float]] = {}
    aliases = catalog().feature_aliases
    known = {*aliases, *(name for features in catalog().feature_sets.values() for name in features)}
    for name in map(str, frame.columns):
        other = name in (*labels, *_LABELS, *_NO_FEATURES, CONTAINER) or name.startswith(_RATIO)
        words = not pd.api.types.is_numeric_dtype(frame[name])
        if other or name.endswith("_power") or (words and name not in known):
            continue
        alias, numbers = aliases.get(name), pd.to_numeric(frame[name], errors="coerce")
        if alias is None:
            found[name] = numbers
        elif alias.feature not in frame.columns:
            found[alias.feature] = numbers * alias.factor
    return found


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
    complete = (rows[power] >= 0).all(axis=1)  # also not where there is none
    if not complete.any():
        raise DataError(f"{file} has no row with power.")
    if not complete.all():
        warn(f"{file}: {(~complete).sum()} of {len(rows)} rows have no power, or less than 0 W, and are left out.")
    return rows[complete].reset_index(drop=True)

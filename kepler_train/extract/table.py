"""Training rows as other tools read them: `timestamp` (Unix s), features (1/s) and `<component>_power` (W)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

_CONTAINER = "id"


def training_table(rows: pd.DataFrame, features: list[str], source: str) -> pd.DataFrame:
    """Rows of one feature group and one source; container rows are told apart by `id`."""
    power = [name for name in rows.columns if name.startswith(f"{source}/")]
    own = ["container"] if "container" in rows.columns else []
    workload = ["workload"] if (rows["workload"] != "").any() else []
    table = rows[["time", "node", *own, *workload, *features, *power]].sort_values(["node", "time", *own])
    names = {"time": "timestamp", "container": _CONTAINER} | {name: name.removeprefix(f"{source}/") for name in power}
    return table.assign(time=_unix_seconds(table["time"])).rename(columns=names).reset_index(drop=True)


def with_node_power(containers: pd.DataFrame, node: pd.DataFrame) -> pd.DataFrame:
    """Container rows, each with the power of its whole node in the same window (W)."""
    columns = ["time", "node", "workload", *(name for name in node.columns if "/" in name)]
    return containers.merge(node[columns], on=["time", "node"], how="inner")


def write_table(table: pd.DataFrame, file: Path) -> None:
    """Write a table as CSV or Parquet, by the suffix of the file."""
    if file.suffix == ".csv":
        table.to_csv(file, index=False)
    else:
        table.to_parquet(file, index=False)


def _unix_seconds(times: pd.Series[pd.Timestamp]) -> pd.Series[float] | pd.Series[int]:
    """Whole seconds where all are whole: the form of the public files."""
    milliseconds = times.dt.as_unit("ms").astype("int64")
    return milliseconds // 1000 if bool((milliseconds % 1000 == 0).all()) else milliseconds / 1000

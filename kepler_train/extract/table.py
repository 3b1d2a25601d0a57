"""Training rows as other tools read them: `timestamp` (Unix s), features (1/s) and `<component>_power` (W)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.extract.provenance import described

TIMESTAMP, CONTAINER = "timestamp", "id"
# Kepler-model-server divides the power of a package by this column of its files, whose name it spells so.
PACKAGE_RATIO = "packge_ratio_package"


def training_table(rows: pd.DataFrame, features: list[str], source: str) -> pd.DataFrame:
    """Rows of one feature group and one source; container rows are told apart by `id`."""
    power = [name for name in rows.columns if name.startswith(f"{source}/")]
    own = ["container"] if "container" in rows.columns else []
    workload = ["workload"] if (rows["workload"] != "").any() else []
    table = rows[["time", "node", *own, *workload, *features, *power]].sort_values(["node", "time", *own])
    names = {"time": TIMESTAMP, "container": CONTAINER} | {name: name.removeprefix(f"{source}/") for name in power}
    return table.assign(time=unix_seconds(table["time"])).rename(columns=names).reset_index(drop=True)


def with_node_power(containers: pd.DataFrame, node: pd.DataFrame) -> pd.DataFrame:
    """Container rows, each with the power of its whole node in the same window (W)."""
    columns = ["time", "node", "workload", *(name for name in node.columns if "/" in name)]
    return containers.merge(node[columns], on=["time", "node"], how="inner")


def write_table(table: pd.DataFrame, file: Path, about: Mapping[str, Any]) -> None:
    """Write a table as CSV or, with units and what is known of its rows, as Parquet, by the suffix of the file."""
    if file.suffix == ".csv":
        table.to_csv(file, index=False)
    else:
        pq.write_table(described(pa.Table.from_pandas(table, preserve_index=False), about), file)


def preprocessed_name(output_type: str, extractor: str, isolator: str, source: str, group: str) -> str:
    """The name of a CSV in the earlier layout."""
    if output_type == "AbsPower":
        return f"preprocess_abs_{extractor}_{source}_{group}.csv"
    return f"preprocess_dyn_{extractor}_{isolator}_{source}_{group}.csv"


def write_preprocessed(table: pd.DataFrame, file: Path, node_type: int) -> None:
    """Write a table as kepler-model-server does: rows of nodes by time, rows of containers numbered, with an `id`.

    Its files know neither nodes nor workloads: a column of nodes is there only where there are several.
    """
    labels = (TIMESTAMP, "node", CONTAINER, "workload")
    power = [name for name in table.columns if name.endswith("_power")]
    features = [name for name in table.columns if name not in (*labels, *power)]
    node = ["node"] if table["node"].nunique() > 1 else []
    marked = table.assign(node_type=node_type, **{PACKAGE_RATIO: 1.0})
    if CONTAINER in table.columns:
        columns = [TIMESTAMP, PACKAGE_RATIO, *features, *power, "node_type", CONTAINER, *node]
        marked[columns].to_csv(file, index=True)
    else:
        marked[[TIMESTAMP, *features, *power, "node_type", PACKAGE_RATIO, *node]].to_csv(file, index=False)


def unix_seconds(times: pd.Series[pd.Timestamp]) -> pd.Series[float] | pd.Series[int]:
    """Whole seconds where all are whole: the form of the public files."""
    milliseconds = times.dt.as_unit("ms").astype("int64")
    return milliseconds // 1000 if bool((milliseconds % 1000 == 0).all()) else milliseconds / 1000

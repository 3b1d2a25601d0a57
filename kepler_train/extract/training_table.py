"""Training rows as other tools read them: `timestamp` (Unix s), features (1/s) and `<component>_power` (W)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.columns import CONTAINER, CONTAINER_ID, NODE, POWER, TIME, TIMESTAMP, WORKLOAD, power_columns
from kepler_train.extract.frame_metadata import with_metadata

NODE_TYPE = "node_type"
# Kepler-model-server divides the power of a package by this column of its files, whose name it spells so.
PACKAGE_RATIO = "packge_ratio_package"


def training_table(rows: pd.DataFrame, features: list[str], source: str) -> pd.DataFrame:
    """Return the rows of one feature group and one source; container rows have an `id`."""
    power = [name for name in rows.columns if name.startswith(f"{source}/")]
    container = [CONTAINER] if CONTAINER in rows.columns else []
    workload = [WORKLOAD] if (rows[WORKLOAD] != "").any() else []
    table = rows[[TIME, NODE, *container, *workload, *features, *power]].sort_values([NODE, TIME, *container])
    names = {TIME: TIMESTAMP, CONTAINER: CONTAINER_ID} | {name: name.removeprefix(f"{source}/") for name in power}
    return table.assign(**{TIME: unix_seconds(table[TIME])}).rename(columns=names).reset_index(drop=True)


def with_node_power(containers: pd.DataFrame, node: pd.DataFrame) -> pd.DataFrame:
    """Return container rows, each with the power of its whole node in the same window (W)."""
    return containers.merge(node[[TIME, NODE, WORKLOAD, *power_columns(node)]], on=[TIME, NODE], how="inner")


def write_table(table: pd.DataFrame, file: Path, metadata: Mapping[str, Any]) -> None:
    """Write a table as CSV or, with units and metadata, as Parquet, by the suffix of the file."""
    if file.suffix == ".csv":
        table.to_csv(file, index=False)
    else:
        pq.write_table(with_metadata(pa.Table.from_pandas(table, preserve_index=False), metadata), file)


def preprocessed_name(output_type: str, extractor: str, isolator: str, source: str, group: str) -> str:
    """Return the name of a CSV in the earlier layout."""
    if output_type == "AbsPower":
        return f"preprocess_abs_{extractor}_{source}_{group}.csv"
    return f"preprocess_dyn_{extractor}_{isolator}_{source}_{group}.csv"


def write_preprocessed(table: pd.DataFrame, file: Path, node_type: int) -> None:
    """Write a table as kepler-model-server does: rows of nodes by time, rows of containers numbered, with an `id`.

    Its files have neither nodes nor workloads: a column of nodes is added only where there are several.
    """
    power = [name for name in table.columns if name.endswith(POWER)]
    features = [name for name in table.columns if name not in (TIMESTAMP, NODE, CONTAINER_ID, WORKLOAD, *power)]
    node = [NODE] if table[NODE].nunique() > 1 else []
    table = table.assign(**{NODE_TYPE: node_type, PACKAGE_RATIO: 1.0})
    if CONTAINER_ID in table.columns:
        columns = [TIMESTAMP, PACKAGE_RATIO, *features, *power, NODE_TYPE, CONTAINER_ID, *node]
        table[columns].to_csv(file, index=True)
    else:
        table[[TIMESTAMP, *features, *power, NODE_TYPE, PACKAGE_RATIO, *node]].to_csv(file, index=False)


def unix_seconds(times: pd.Series[pd.Timestamp]) -> pd.Series[float] | pd.Series[int]:
    """Return Unix seconds; integers where all are whole, as in the public files."""
    milliseconds = times.dt.as_unit("ms").astype("int64")
    return milliseconds // 1000 if bool((milliseconds % 1000 == 0).all()) else milliseconds / 1000

"""Training rows as other tools read them: `timestamp` (Unix s), features (1/s) and `<component>_power` (W)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kepler_train.arrays import Bools
from kepler_train.columns import CONTAINER, CONTAINER_ID, NODE, POWER, TIME, TIMESTAMP, WORKLOAD
from kepler_train.extract.table_parts import TableInParts, write_csv, write_parquet

NODE_TYPE = "node_type"
# Kepler-model-server divides the power of a package by this column of its files, whose name it spells so.
PACKAGE_RATIO = "packge_ratio_package"


def training_table(rows: pd.DataFrame, features: list[str], source: str) -> pd.DataFrame:
    """Return rows of nodes with the columns of one feature group and one source."""
    power = [name for name in rows.columns if name.startswith(f"{source}/")]
    workload = [WORKLOAD] if (rows[WORKLOAD] != "").any() else []
    table = rows[[TIME, NODE, *workload, *features, *power]].sort_values([NODE, TIME])
    return as_named(table.assign(**{TIME: unix_seconds(table[TIME])}), source).reset_index(drop=True)


def as_named(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return columns by the names that other tools know: power is that of the one source, containers have an `id`."""
    power = {name: name.removeprefix(f"{source}/") for name in table.columns if name.startswith(f"{source}/")}
    return table.rename(columns={TIME: TIMESTAMP, CONTAINER: CONTAINER_ID} | power)


def write_table(table: pd.DataFrame | TableInParts, file: Path, metadata: Mapping[str, Any]) -> None:
    """Write a table as CSV or, with units and metadata, as Parquet, by the suffix of the file."""
    if file.suffix == ".csv":
        write_csv(in_parts(table), file, lambda part: part, index=False)
    else:
        write_parquet(in_parts(table), file, metadata)


def in_parts(table: pd.DataFrame | TableInParts) -> TableInParts:
    """Return a table that is in memory as one of a single part."""
    if isinstance(table, TableInParts):
        return table
    nodes = table[NODE].nunique() if NODE in table.columns else 1
    return TableInParts([str(name) for name in table.columns], len(table), nodes, lambda: iter([table]))


def preprocessed_name(output_type: str, extractor: str, isolator: str, source: str, group: str) -> str:
    """Return the name of a CSV in the earlier layout."""
    if output_type == "AbsPower":
        return f"preprocess_abs_{extractor}_{source}_{group}.csv"
    return f"preprocess_dyn_{extractor}_{isolator}_{source}_{group}.csv"


def write_preprocessed(table: pd.DataFrame | TableInParts, file: Path, node_type: int) -> None:
    """Write a table as kepler-model-server does: rows of nodes by time, rows of containers numbered, with an `id`.

    Its files have neither nodes nor workloads: a column of nodes is added only where there are several.
    """
    table = in_parts(table)
    power = [name for name in table.columns if name.endswith(POWER)]
    features = [name for name in table.columns if name not in (TIMESTAMP, NODE, CONTAINER_ID, WORKLOAD, *power)]
    node = [NODE] if table.nodes > 1 else []
    numbered = CONTAINER_ID in table.columns
    columns = (
        [TIMESTAMP, PACKAGE_RATIO, *features, *power, NODE_TYPE, CONTAINER_ID, *node]
        if numbered
        else [TIMESTAMP, *features, *power, NODE_TYPE, PACKAGE_RATIO, *node]
    )

    def in_layout(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(**{NODE_TYPE: node_type, PACKAGE_RATIO: 1.0})[columns]

    write_csv(table, file, in_layout, index=numbered)


def unix_seconds(times: pd.Series[pd.Timestamp], shown: Bools | None = None) -> pd.Series[float] | pd.Series[int]:
    """Return Unix seconds; integers where all are whole, or all that are `shown`, as in the public files."""
    milliseconds = times.dt.as_unit("ms").astype("int64")
    looked_at = milliseconds.to_numpy() if shown is None else milliseconds.to_numpy()[shown]
    return milliseconds // 1000 if bool((looked_at % 1000 == 0).all()) else milliseconds / 1000

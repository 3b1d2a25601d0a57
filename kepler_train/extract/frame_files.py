"""The files that extraction writes, and the rows of all nodes together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kepler_train.columns import NODE, meter_of, power_columns
from kepler_train.events import warn
from kepler_train.workspace import files_of

if TYPE_CHECKING:
    import pandas as pd  # it takes half a second and 50 MB, and extraction only needs the names of the files

NODE_FILE, CONTAINERS_FILE = "node.parquet", "containers.parquet"
PACKAGES_FILE = "packages.parquet"  # only of machines with several packages


def extracted_nodes(extracted: Path) -> set[str]:
    """Return the nodes that have rows."""
    import pyarrow.parquet as pq

    tables = (pq.read_table(file, columns=[NODE]) for file in files_of(extracted, NODE_FILE))
    return {str(node) for table in tables for node in table.column(NODE).unique().to_pylist()}


def read_node_rows(extracted: Path) -> pd.DataFrame:
    """Return the rows of every node, without power that some of them do not measure: they can then share a model."""
    import pandas as pd

    rows = pd.concat([pd.read_parquet(file) for file in files_of(extracted, NODE_FILE)], ignore_index=True)
    partly = [name for name in power_columns(rows) if rows[name].isna().any()]
    if partly:
        names = ", ".join(meter_of(name) for name in partly)
        warn(f"Not every node measures {names}: nothing is learnt of them.")
    return rows.drop(columns=partly)

"""The files that extraction leaves, and the rows of all nodes together."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kepler_train.columns import power_columns
from kepler_train.events import warn
from kepler_train.workspace import files_of

NODE, CONTAINERS = "node.parquet", "containers.parquet"
PACKAGES = "packages.parquet"
"""Rows by package, only of machines with several."""


def read_node_rows(extracted: Path) -> pd.DataFrame:
    """Rows of every node; power that is not measured on all of them is left out, so that they can share a model."""
    rows = pd.concat([pd.read_parquet(file) for file in files_of(extracted, NODE)], ignore_index=True)
    partly = [name for name in power_columns(rows) if rows[name].isna().any()]
    if partly:
        names = ", ".join(name.removesuffix("_power") for name in partly)
        warn(f"Not every node measures {names}: nothing is learnt of them.")
    return rows.drop(columns=partly)


def container_files(extracted: Path) -> list[Path]:
    """The files of container rows."""
    return files_of(extracted, CONTAINERS)

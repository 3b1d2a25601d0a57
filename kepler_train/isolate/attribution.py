"""Attribution: the dynamic power of a node shared among its containers.

Rule `main-feature`: container c gets P · x_c / Σ x over its node's containers in the same window, with x the main
feature of the group for that component; the shares of a window add up to P. Where no container did any work of that
kind the window's power stays unattributed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.catalog import FeatureGroup
from kepler_train.isolate.isolators import power_columns

RULE = "main-feature"


def attribute(containers: pd.DataFrame, node: pd.DataFrame, group: FeatureGroup, features: list[str]) -> pd.DataFrame:
    """Container rows with their share of each power column of the node (W)."""
    columns = power_columns(node)
    rows = containers[["time", "node", "container", *features]].merge(
        node[["time", "node", "workload", *columns]], on=["time", "node"], how="inner"
    )
    windows = [rows["time"], rows["node"]]
    for column in columns:
        component = column.partition("/")[2].removesuffix("_power")
        load = rows[group.main_feature(component) or features[0]]
        whole = load.groupby(windows).transform("sum")
        share = np.divide(load, whole, out=np.zeros(len(rows)), where=(whole > 0).to_numpy())
        rows[column] = rows[column] * share
    return rows

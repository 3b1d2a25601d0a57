"""Errors of attributed power against the truth, which is known on the simulated node."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.columns import CONTAINER, NODE, TIME, component_of, power_columns


def container_errors(shares: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the error of the shares of every container, by power column, over the windows that have shares.

    `truth` is what `simulate history --truth-containers` writes. Columns: `load` (its kind), `rows`, `watts` (its true
    mean power), `mae` (mean absolute error, W), `bias` (mean error, W). A container without a row has a share of 0 W.
    """
    columns = power_columns(shares)
    shared_windows = truth.merge(shares[[TIME, NODE]].drop_duplicates(), on=[TIME, NODE])
    both = shared_windows.merge(shares[[TIME, NODE, CONTAINER, *columns]], on=[TIME, NODE, CONTAINER], how="left")
    pieces = []
    for column in columns:
        true = both[f"{component_of(column)}_dynamic_watts"].to_numpy()
        error = both[column].fillna(0.0).to_numpy() - true
        rows = both[[NODE, CONTAINER, "load"]].assign(column=column, rows=1, watts=true, mae=np.abs(error), bias=error)
        by = rows.groupby(["column", NODE, CONTAINER, "load"], as_index=False)
        pieces.append(by.agg({"rows": "sum", "watts": "mean", "mae": "mean", "bias": "mean"}))
    return pd.concat(pieces, ignore_index=True)

"""How far shares of power are from the truth, where it is known: on the simulated node."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.columns import power_columns

_WINDOW = ["time", "node"]


def container_errors(shares: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Error of the shares of every container, by power column, over the windows that have shares.

    `truth` is what `simulate history --truth-containers` writes. Columns: `load` (its kind), `rows`, `watts` (its true
    mean power), `mae` (mean absolute error, W), `bias` (mean error, W). A container without a row has a share of 0 W.
    """
    known = truth.merge(shares[_WINDOW].drop_duplicates(), on=_WINDOW)
    columns = power_columns(shares)
    both = known.merge(shares[[*_WINDOW, "container", *columns]], on=[*_WINDOW, "container"], how="left")
    pieces = []
    for column in columns:
        true = both[f"{column.partition('/')[2].removesuffix('_power')}_dynamic_watts"].to_numpy()
        off = both[column].fillna(0.0).to_numpy() - true
        rows = both[["node", "container", "load"]].assign(column=column, rows=1, watts=true, mae=np.abs(off), bias=off)
        by = rows.groupby(["column", "node", "container", "load"], as_index=False)
        pieces.append(by.agg({"rows": "sum", "watts": "mean", "mae": "mean", "bias": "mean"}))
    return pd.concat(pieces, ignore_index=True)

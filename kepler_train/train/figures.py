"""Error figures of a model, all from held-out predictions.

With r = predicted − measured (W): MAE = mean |r|; RMSE = √mean r²; MAPE = 100 · mean |r| / measured over the rows
whose measured power is at least `floor` W; idle bias = mean r over idle rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from kepler_train.collect.schedule import IDLE


def component_figures(rows: pd.DataFrame, floor: float) -> dict[str, Any]:
    """Figures of one component under one protocol, with the rows behind them; None where none can be given."""
    measured, off = rows["measured"].to_numpy(), (rows["predicted"] - rows["measured"]).to_numpy()
    above = measured >= floor
    idle = (rows["workload"] == IDLE).to_numpy()
    by_workload = pd.Series(np.abs(off)).groupby(rows["workload"].to_numpy()).mean()
    return {
        "mae": float(np.abs(off).mean()),
        "rmse": float(math.sqrt((off**2).mean())),
        "mape": float(100 * (np.abs(off[above]) / measured[above]).mean()) if above.any() else None,
        "idle_bias": float(off[idle].mean()) if idle.any() else None,
        "worst_workload": str(by_workload.idxmax()),
        "worst_workload_mae": float(by_workload.max()),
        "mean_power": float(measured.mean()),
        "rows": len(rows),
        "mape_rows": int(above.sum()),
        "mape_floor": floor,
    }


def all_figures(held_out: pd.DataFrame, floor: float) -> dict[str, dict[str, dict[str, Any]]]:
    """Figures by protocol and component."""
    return {
        str(protocol): {
            str(component): component_figures(rows, floor)
            for component, rows in of_protocol.groupby("component", sort=False)
        }
        for protocol, of_protocol in held_out.groupby("protocol", sort=False)
    }


def worst(figures: dict[str, dict[str, Any]], name: str) -> float | None:
    """The largest value of a figure over the components: the model is as good as its worst one."""
    values = [of_component[name] for of_component in figures.values() if of_component[name] is not None]
    return max(values) if values else None

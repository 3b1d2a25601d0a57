"""Error figures of a model, all from held-out predictions.

With r = predicted − measured (W) of each row, and Δt the length of a window (s):

- MAE = mean |r|; RMSE = √mean r²; P95 = the value that 95 % of |r| do not exceed
- MAPE = 100 · mean |r| / measured, over the rows whose measured power is at least `floor` W
- idle bias = mean r over idle rows
- energy error of a workload = Σ r·Δt in J, and 100 · Σ r / Σ measured in %
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.collect.schedule import IDLE
from kepler_train.models.component import Watts
from kepler_train.train.protocols import Protocol, Windows

ByComponent = dict[str, dict[str, Any]]


def component_figures(
    measured: Watts,
    predicted: Watts,
    workloads: pd.Categorical,
    floor: float,
    seconds: float,
    by_workload: bool = False,
) -> dict[str, Any]:
    """Figures of one component under one protocol, with the rows behind them; None where none can be given.

    `seconds` is the length of a window.
    """
    off = predicted - measured
    size, above = np.abs(off), measured >= floor
    code, names = workloads.codes, [str(name) for name in workloads.categories]
    count = np.bincount(code, minlength=len(names))
    mae = np.where(count, np.bincount(code, size, len(names)) / np.maximum(count, 1), -1)  # of no row: never the worst
    joules, joules_off = (seconds * np.bincount(code, watts, len(names)) for watts in (measured, off))
    # A workload that hardly takes power has no energy to be a share of, as rows below the floor have none.
    shares = (count > 0) & (joules >= floor * seconds * count) & (joules > 0)
    share = np.divide(100 * joules_off, joules, out=np.full(len(names), np.nan), where=shares)
    idle = code == names.index(IDLE) if IDLE in names else np.zeros(len(off), dtype=bool)
    worst = int(mae.argmax())
    most = int(np.nanargmax(np.abs(share))) if shares.any() else None
    figures: dict[str, Any] = {
        "mae": float(size.mean()),
        "rmse": math.sqrt(float(off @ off) / len(off)),
        "p95": float(np.quantile(size, 0.95)),
        "mape": float(100 * (size[above] / measured[above]).mean()) if above.any() else None,
        "idle_bias": float(off[idle].mean()) if idle.any() else None,
        "worst_workload": names[worst],
        "worst_workload_mae": float(mae[worst]),
        "energy_error": None if most is None else float(share[most]),
        "energy_error_joules": None if most is None else float(joules_off[most]),
        "energy_worst_workload": None if most is None else names[most],
        "mean_power": float(measured.mean()),
        "rows": len(off),
        "mape_rows": int(above.sum()),
        "mape_floor": floor,
    }
    if by_workload:
        figures["workloads"] = {
            name: {
                "rows": int(count[number]),
                "mae": float(mae[number]),
                "joules": float(joules[number]),
                "joules_off": float(joules_off[number]),
                "energy_error": float(share[number]) if shares[number] else None,
            }
            for number, name in enumerate(names)
            if count[number]
        }
    return figures


def all_figures(held_out: pd.DataFrame, floor: float, of: str = "predicted") -> dict[str, ByComponent]:
    """Figures by protocol and component of what the column `of` says; of the farthest protocol also by workload."""
    seconds = window_seconds(held_out)
    workloads = pd.Categorical(held_out["workload"])
    measured, predicted = held_out["measured"].to_numpy(), held_out[of].to_numpy()
    there = list(_pieces(held_out))
    found: dict[str, ByComponent] = {}
    farthest = Protocol.WORKLOAD if any(name == Protocol.WORKLOAD for name, _, _ in there) else Protocol.BLOCKED
    for protocol, component, rows in there:
        found.setdefault(protocol, {})[component] = component_figures(
            measured[rows], predicted[rows], workloads[rows], floor, seconds, protocol == farthest
        )
    return found


def _pieces(held_out: pd.DataFrame) -> Iterator[tuple[str, str, npt.NDArray[np.intp]]]:
    """The rows of every protocol and component, in the order in which they come."""
    protocol, protocols = pd.factorize(held_out["protocol"])
    component, components = pd.factorize(held_out["component"])
    for number, of_protocol in enumerate(protocols):
        for other, of_component in enumerate(components):
            rows = np.flatnonzero((protocol == number) & (component == other))
            if len(rows):
                yield str(of_protocol), str(of_component), rows


def window_seconds(held_out: pd.DataFrame) -> float:
    """The length of the windows behind held-out rows (s): blocks of time hold every row of a component once."""
    one = held_out["component"] == held_out["component"].iloc[0]
    rows = held_out.loc[one & (held_out["protocol"] == Protocol.BLOCKED), ["node", "time", "workload"]]
    return Windows.of(rows.sort_values(["node", "time"])).seconds


def worst(figures: ByComponent, name: str) -> float | None:
    """The largest value of a figure over the components: the model is as good as its worst one."""
    values = [of_component[name] for of_component in figures.values() if of_component[name] is not None]
    return max(values) if values else None

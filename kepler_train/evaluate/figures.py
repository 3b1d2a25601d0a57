"""Error figures of a model, all from held-out predictions.

With r = predicted − measured (W) of each row, and Δt the length of a window (s):

- MAE = mean |r|; RMSE = √mean r²; P95 = the value that 95 % of |r| do not exceed
- MAPE = 100 · mean |r| / measured, over the rows whose measured power is at least `floor` W
- idle bias = mean r over idle rows
- energy error of a workload = Σ r·Δt in J, and 100 · Σ r / Σ measured in %
"""

from __future__ import annotations

import math

import numpy as np

from kepler_train.evaluate.judged import Coded, HeldOut
from kepler_train.evaluate.protocols import Protocol
from kepler_train.extract.row_times import usual_step
from kepler_train.models.component import Watts
from kepler_train.models.metadata import ByComponent, ByProtocol, ErrorFigures, WorkloadFigures
from kepler_train.samples.schedule import IDLE


def component_figures(
    measured: Watts,
    predicted: Watts,
    workloads: Coded,
    floor: float,
    seconds: float,
    by_workload: bool = False,
) -> ErrorFigures:
    """Return the figures of one component under one protocol; windows are `seconds` long."""
    off = predicted - measured
    size, above = np.abs(off), measured >= floor
    code, names = workloads
    count = np.bincount(code, minlength=len(names))
    mae = np.where(count, np.bincount(code, size, len(names)) / np.maximum(count, 1), -1)  # of no row: never the worst
    joules, joules_off = (seconds * np.bincount(code, watts, len(names)) for watts in (measured, off))
    # A workload that hardly takes power has no energy to be a share of, as rows below the floor have none.
    shares = (count > 0) & (joules >= floor * seconds * count) & (joules > 0)
    share = np.divide(100 * joules_off, joules, out=np.full(len(names), np.nan), where=shares)
    idle = code == names.index(IDLE) if IDLE in names else np.zeros(len(off), dtype=bool)
    worst = int(mae.argmax())
    known = np.isfinite(share)  # not where the energy is beyond all numbers
    most = int(np.where(known, np.abs(share), -1).argmax()) if known.any() else None
    by_name = {
        name: WorkloadFigures(
            rows=int(count[number]),
            mae=float(mae[number]),
            joules=float(joules[number]),
            joules_off=float(joules_off[number]),
            energy_error=float(share[number]) if known[number] else None,
        )
        for number, name in enumerate(names if by_workload else ())
        if count[number]
    }
    return ErrorFigures(
        mae=float(size.mean()),
        rmse=_root_mean_square(size),
        p95=_quantile(size, 0.95),
        mape=float(100 * (size[above] / measured[above]).mean()) if above.any() else None,
        idle_bias=float(off[idle].mean()) if idle.any() else None,
        worst_workload=names[worst],
        worst_workload_mae=float(mae[worst]),
        energy_error=None if most is None else float(share[most]),
        energy_error_joules=None if most is None else float(joules_off[most]),
        energy_worst_workload=None if most is None else names[most],
        mean_power=float(measured.mean()),
        rows=len(off),
        mape_rows=int(above.sum()),
        mape_floor=floor,
        **({"workloads": by_name} if by_workload else {}),
    )


def _root_mean_square(values: Watts) -> float:
    """Return √mean v², from shares of the largest value: the square of a large one may be beyond all numbers."""
    most = float(values.max()) or 1.0
    shares = values / most
    return most * math.sqrt(float(shares @ shares) / len(shares))


def _quantile(values: Watts, share: float) -> float:
    """Return what np.quantile does, in a fifth of its time: linear between the two nearest values."""
    place = share * (len(values) - 1)
    low, high = math.floor(place), math.ceil(place)
    ordered = np.partition(values, (low, high))
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def all_figures(held_out: HeldOut, floor: float, of: str = "predicted") -> ByProtocol:
    """Return the figures of the predictions in column `of`; those of the farthest protocol also by workload."""
    seconds, measured, predicted = _window_seconds(held_out), held_out.columns["measured"], held_out.columns[of]
    unseen = Protocol.WORKLOAD in {piece.protocol for piece in held_out.pieces}
    farthest = Protocol.WORKLOAD if unseen else Protocol.BLOCKED
    by_protocol: ByProtocol = {}
    for protocol, component, rows in held_out.pieces:
        workloads, far = held_out.workload.take(rows), protocol == farthest
        figures = component_figures(measured[rows], predicted[rows], workloads, floor, seconds, far)
        by_protocol.setdefault(protocol, {})[component] = figures
    return by_protocol


def _window_seconds(held_out: HeldOut) -> float:
    """Return the length of the windows behind held-out rows (s); blocks of time hold every row of a component once."""
    rows = next(piece.rows for piece in held_out.pieces if piece.protocol == Protocol.BLOCKED)
    nodes, times = held_out.node.codes[rows], held_out.time[rows] / 1e9
    order = np.lexsort((times, nodes))
    return usual_step(nodes[order], times[order])


def worst(figures: ByComponent, name: str) -> float | None:
    """Return the largest value of a figure over the components: a model is as good as its worst one."""
    values = [value for errors in figures.values() if (value := getattr(errors, name)) is not None]
    return max(values) if values else None

"""Does the power of containers add up to that of their node?

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component. It is measured on at most
`WINDOWS` windows, evenly spread over the time: some trainers need longer for a million containers than for training.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.containers import adds_up
from kepler_train.models import PowerModel

WINDOWS = 100


def additivity_error(model: PowerModel, containers: Path) -> dict[str, float]:
    """Mean difference (W) between the sum of container predictions and the prediction for their sum."""
    times = pq.read_table(containers, columns=["time"])["time"].unique().sort()
    spread = np.unique(np.linspace(0, len(times) - 1, min(WINDOWS, len(times))).round().astype(np.int64))
    chosen = pc.field("time").isin(times.take(spread))
    columns = ["time", "node", "container", *model.features]
    rows = pq.read_table(containers, columns=columns, filters=chosen).to_pandas()
    rows = rows[rows["container"] != UNATTRIBUTED]
    if rows.empty:  # no container, nothing to add up
        return dict.fromkeys(model.components, 0.0)
    # What does not add up, as the clock of the CPUs, is the same for a node and its containers.
    how = {name: "sum" if adds_up(name) else "max" for name in model.features} | dict.fromkeys(model.components, "sum")
    parts = rows[model.features].assign(**model.predict(rows))
    whole = parts.groupby([rows["time"], rows["node"].astype(str)]).agg(how)
    expected = model.predict(whole)
    return {name: float(np.abs(whole[name].to_numpy() - expected[name]).mean()) for name in model.components}

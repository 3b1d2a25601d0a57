"""Does the power of containers add up to that of their node?

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component. It is measured on `WINDOWS`
windows evenly spread over the time, or on fewer that have about `ROWS` rows of containers together: some trainers need
longer for half a million containers than for training.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.containers import adds_up, read_batches
from kepler_train.models import PowerModel

WINDOWS, ROWS = 100, 4000
_BATCH = 1 << 16  # rows that are read at once


def additivity_error(model: PowerModel, containers: Path) -> dict[str, float]:
    """Mean difference (W) between the sum of container predictions and the prediction for their sum."""
    rows = _spread(containers, containers.stat().st_mtime_ns)
    if rows.empty:  # no container, nothing to add up
        return dict.fromkeys(model.components, 0.0)
    # What does not add up, as the clock of the CPUs, is the same for a node and its containers.
    how = {name: "sum" if adds_up(name) else "max" for name in model.features} | dict.fromkeys(model.components, "sum")
    parts = rows[model.features].assign(**model.predict(rows))
    whole = parts.groupby([rows["time"], rows["node"]], observed=True).agg(how)
    expected = model.predict(whole)
    return {name: float(np.abs(whole[name].to_numpy() - expected[name]).mean()) for name in model.components}


@lru_cache(maxsize=1)
def _spread(containers: Path, written: int) -> pd.DataFrame:  # noqa: ARG001  # a file written anew is another one
    """The rows of some windows of a file, without power; several trainers in turn learn from the same one."""
    if not pq.read_metadata(containers).num_rows:
        return pd.DataFrame()
    names = [name for name in pq.read_schema(containers).names if not name.endswith("_power")]
    every = pa.chunked_array([batch["time"] for batch in read_batches(containers, ["time"])])
    times = pc.unique(every).sort()
    count = min(WINDOWS, len(times), max(ROWS * len(times) // len(every), 10))
    chosen = times.take(np.linspace(0, len(times) - 1, count).round().astype(np.int64))
    parts = []
    for batch in read_batches(containers, names, _BATCH):
        there = pc.is_in(batch["time"], chosen)
        own = pc.not_equal(batch["container"].cast(pa.string()), UNATTRIBUTED)
        parts.append(batch.filter(pc.and_(there, own)))
    found: pd.DataFrame = pa.Table.from_batches(parts).to_pandas()
    return found

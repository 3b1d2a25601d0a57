"""Whether the power of containers adds up to that of their node.

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component. It is measured on `WINDOWS`
windows evenly spread over the time, or on fewer that have about `ROWS` rows of containers together: some trainers need
longer for half a million containers than for training. Where no window has two containers there is no figure.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.columns import CONTAINER, NODE, TIME, WORKLOAD, is_power
from kepler_train.estimate.sharing import ContainerRows, window_numbers
from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.containers import read_batches
from kepler_train.models import PowerModel

WINDOWS, ROWS = 100, 4000
_BATCH = 1 << 16  # rows that are read at once


def additivity_error(model: PowerModel, containers: Path) -> dict[str, float] | None:
    """Return the mean difference (W) between the sum of container predictions and the prediction for their sum.

    None where no window has several containers: frames of earlier tools may have one row for all of them.
    """
    rows = _spread(containers, containers.stat().st_mtime_ns)
    if np.bincount(rows.window).max(initial=0) < 2:
        return None
    parts = model.watts({name: rows.columns[name] for name in model.features})
    expected = model.watts({name: rows.added_up(name) for name in model.features})
    return {
        name: float(np.abs(np.bincount(rows.window, watts, len(expected[name])) - expected[name]).mean())
        for name, watts in parts.items()
    }


# All trainers of both sources learn from the file of their feature group in turn; a few thousand rows each are kept.
@lru_cache(maxsize=16)
def _spread(containers: Path, written: int) -> ContainerRows:  # noqa: ARG001  # a file written anew is another one
    """Return the rows of some windows of a file, without power."""
    count = pq.read_metadata(containers).num_rows
    if not count:
        return ContainerRows({}, np.empty(0, dtype=np.intp))
    names = [name for name in pq.read_schema(containers).names if not is_power(name)]
    times = pc.unique(pa.chunked_array([batch[TIME] for batch in read_batches(containers, [TIME])])).sort()
    windows = min(WINDOWS, len(times), max(ROWS * len(times) // count, 10))
    chosen = times.take(np.linspace(0, len(times) - 1, windows).round().astype(np.int64))
    parts = []
    for batch in read_batches(containers, names, _BATCH):
        chosen_window = pc.is_in(batch[TIME], chosen)
        attributed = pc.not_equal(batch[CONTAINER].cast(pa.string()), UNATTRIBUTED)
        parts.append(batch.filter(pc.and_(chosen_window, attributed)))
    rows = pa.Table.from_batches(parts).to_pandas()
    features = [name for name in names if name not in (TIME, NODE, CONTAINER, WORKLOAD)]
    columns = {name: rows[name].to_numpy(dtype=np.float64) for name in features}
    return ContainerRows(columns, window_numbers(rows))

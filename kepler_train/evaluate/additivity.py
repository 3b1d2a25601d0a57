"""Whether the power of containers adds up to that of their node.

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component. It is measured on some
windows evenly spread over the time, fewer where they have many containers: some trainers need longer for half a million
containers than for training. Where no window has two containers there is no figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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

MOST_WINDOWS, MOST_ROWS = 100, 4000  # rows of containers in them together, about
_BATCH = 1 << 16  # rows that are read at once


def additivity_error(model: PowerModel, containers: Path) -> dict[str, float] | None:
    """Return the mean difference (W) between the sum of container predictions and the prediction for their sum.

    None where no window has several containers: frames of earlier tools may have one row for all of them.
    """
    rows = _spread(_ContainersFile.at(containers))
    if np.bincount(rows.window).max(initial=0) < 2:
        return None
    parts = model.watts({name: rows.columns[name] for name in model.features})
    expected = model.watts({name: rows.added_up(name) for name in model.features})
    return {
        name: float(np.abs(np.bincount(rows.window, watts, len(expected[name])) - expected[name]).mean())
        for name, watts in parts.items()
    }


@dataclass(frozen=True)
class _ContainersFile:
    """A file of container rows. Each step of a run sees it in a folder of its own, so the path says nothing of it."""

    path: Path = field(compare=False)
    device: int
    inode: int
    size: int
    written: int  # ns since 1970

    @classmethod
    def at(cls, path: Path) -> _ContainersFile:
        """Return the file that a path leads to."""
        about = path.stat()
        return cls(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


# All trainers of both sources learn from the file of their feature group in turn; a few thousand rows each are kept.
@lru_cache(maxsize=16)
def _spread(file: _ContainersFile) -> ContainerRows:
    """Return the rows of some windows of a file, without power."""
    containers = file.path
    count = pq.read_metadata(containers).num_rows
    if not count:
        return ContainerRows({}, np.empty(0, dtype=np.intp))
    names = [name for name in pq.read_schema(containers).names if not is_power(name)]
    times = pc.unique(pa.chunked_array([batch[TIME] for batch in read_batches(containers, [TIME])])).sort()
    windows = min(MOST_WINDOWS, len(times), max(MOST_ROWS * len(times) // count, 10))
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

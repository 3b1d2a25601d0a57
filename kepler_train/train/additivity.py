"""Does the power of containers add up to that of their node?

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.containers import BATCH_ROWS, adds_up
from kepler_train.models import PowerModel


def additivity_error(model: PowerModel, containers: Path) -> dict[str, float]:
    """Mean difference (W) between the sum of container predictions and the prediction for their sum.

    The file of container rows is read a batch at a time; only sums by window are kept.
    """
    # What does not add up, as the clock of the CPUs, is the same for a node and its containers.
    how = {name: "sum" if adds_up(name) else "max" for name in model.features} | dict.fromkeys(model.components, "sum")
    sums: list[pd.DataFrame] = []
    with pq.ParquetFile(containers) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=["time", "node", "container", *model.features]):
            rows = batch.filter(pc.not_equal(batch.column("container"), UNATTRIBUTED)).to_pandas()
            parts = rows[model.features].assign(**model.predict(rows))
            sums.append(parts.groupby([rows["time"], rows["node"]]).agg(how))
    whole = pd.concat(sums).groupby(level=["time", "node"]).agg(how)
    expected = model.predict(whole)
    return {name: float(np.abs(whole[name].to_numpy() - expected[name]).mean()) for name in model.components}

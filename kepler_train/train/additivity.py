"""Does the power of containers add up to that of their node?

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kepler_train.isolate.attribution import UNATTRIBUTED
from kepler_train.isolate.containers import adds_up, read_batches
from kepler_train.models import PowerModel


def additivity_error(model: PowerModel, containers: Path) -> dict[str, float]:
    """Mean difference (W) between the sum of container predictions and the prediction for their sum.

    The file of container rows is read a batch at a time; only sums by window are kept.
    """
    # What does not add up, as the clock of the CPUs, is the same for a node and its containers.
    how = {name: "sum" if adds_up(name) else "max" for name in model.features} | dict.fromkeys(model.components, "sum")
    whole = pd.DataFrame()
    for batch in read_batches(containers, ["time", "node", "container", *model.features]):
        every = batch.to_pandas()
        rows = every[every["container"] != UNATTRIBUTED]
        parts = rows[model.features].assign(**model.predict(rows))
        summed = parts.groupby([rows["time"], rows["node"].astype(str)]).agg(how)
        whole = pd.concat([whole, summed]).groupby(level=["time", "node"]).agg(how) if len(whole) else summed
    if whole.empty:  # no container, nothing to add up
        return dict.fromkeys(model.components, 0.0)
    expected = model.predict(whole)
    return {name: float(np.abs(whole[name].to_numpy() - expected[name]).mean()) for name in model.components}

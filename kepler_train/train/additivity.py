"""Does the power of containers add up to that of their node?

Additivity error = mean over windows of |Σ_c f(x_c) − f(Σ_c x_c)|, in W, for each component.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kepler_train.models import PowerModel


def additivity_error(model: PowerModel, containers: pd.DataFrame) -> dict[str, float]:
    """Mean difference (W) between the sum of container predictions and the prediction for their sum."""
    windows = [containers["time"], containers["node"]]
    node = containers[model.features].groupby(windows).sum()
    whole = model.predict(node)
    parts = pd.DataFrame(model.predict(containers)).groupby([w.to_numpy() for w in windows]).sum()
    return {component: float(np.abs(parts[component].to_numpy() - whole[component]).mean()) for component in whole}

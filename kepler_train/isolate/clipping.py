"""Dynamic power: measured power less that of the background, never below 0 W, with counts of the clipped rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from kepler_train.arrays import Floats
from kepler_train.columns import NODE, meter_of

# Warn when this share of rows is clipped by more than noise: the background was estimated too high.
MOST_CLIPPED = 0.05
# Clipping by up to this many standard deviations of the background is noise: normal noise exceeds it in 2.3 % of rows.
_NOISE = 2.0


class Removed(BaseModel):
    """What was removed from one power column of one node: `watts` of background on average.

    `clipped` rows were below the background, by `cut_watts` on average over these rows, and became 0 W. Of these,
    `beyond_noise` rows were below it by more than twice the deviation that the background itself has, where that is
    known: at idle half of all rows lie below their mean.
    """

    model_config = ConfigDict(frozen=True)

    watts: float
    rows: int
    clipped: int
    cut_watts: float
    beyond_noise: int

    @property
    def clipped_share(self) -> float:
        """Return the share of rows that were set to 0 W, 0 to 1."""
        return self.clipped / self.rows if self.rows else 0.0

    @property
    def too_low_share(self) -> float:
        """Return the share of rows that were set to 0 W and had less than noise explains, 0 to 1."""
        return self.beyond_noise / self.rows if self.rows else 0.0


def subtract_background(
    node: pd.DataFrame, background: Mapping[str, Floats], deviation: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, dict[str, Removed]]]:
    """Return dynamic power (W) of every row by column, and what was removed by node and column.

    `deviation` is the standard deviation of single windows of the background (W), for columns where it is known.
    """
    dynamic: dict[str, Floats] = {}
    removed: dict[str, dict[str, Removed]] = {str(name): {} for name in sorted(node[NODE].unique())}
    for column, watts in background.items():
        rest = node[column].to_numpy(dtype=np.float64) - watts
        dynamic[column] = np.maximum(rest, 0.0)
        noise = _NOISE * deviation.get(column, np.zeros(len(node)))
        for name, rows in node.groupby(NODE).indices.items():
            cuts = -rest[rows][rest[rows] < 0]
            removed[str(name)][column] = Removed(
                watts=float(watts[rows].mean()),
                rows=len(rows),
                clipped=len(cuts),
                cut_watts=float(cuts.mean()) if len(cuts) else 0.0,
                beyond_noise=int((rest[rows] < -noise[rows]).sum()),
            )
    return dynamic, removed


def clipping_warnings(removed: Mapping[str, Mapping[str, Removed]]) -> list[str]:
    """Return a sentence for every node of which too many rows were below the background and its noise."""
    warnings = []
    for node, columns in removed.items():
        too_low = {name: loss.too_low_share for name, loss in columns.items() if loss.too_low_share > MOST_CLIPPED}
        if too_low:
            shares = ", ".join(f"{meter_of(name)} {100 * share:.1f} %" for name, share in too_low.items())
            warnings.append(
                f"Of the rows of {node} more than {100 * MOST_CLIPPED:g} % have less power than the background, by more"
                f" than noise, and count as 0 W: {shares}."
            )
    return warnings

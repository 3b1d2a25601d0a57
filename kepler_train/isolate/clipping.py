"""Dynamic power: measured power less that of the background, never below 0 W, and what was cut off there counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from kepler_train.isolate.containers import Floats

# Above this share of rows, cut by more than noise, the background was taken for too large: worth a warning.
MOST_CLIPPED = 0.05
# A cut of up to this many deviations of the background is noise: a normal one exceeds it in 2.3 % of idle rows.
_NOISE = 2.0


class Removed(BaseModel):
    """What one power column of one node lost: `watts` of background on average, and the rows that had less than that.

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
        """Share of rows that were set to 0 W, 0 to 1."""
        return self.clipped / self.rows if self.rows else 0.0

    @property
    def too_low_share(self) -> float:
        """Share of rows that were set to 0 W and had less than noise explains, 0 to 1."""
        return self.beyond_noise / self.rows if self.rows else 0.0


def dynamic_power(
    node: pd.DataFrame, background: Mapping[str, Floats], deviation: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, dict[str, Removed]]]:
    """Dynamic power (W) of every row by column, and by node and column what was removed.

    `deviation` is how far single windows of the background lie from its mean (W), for columns of which it is known.
    """
    dynamic: dict[str, Floats] = {}
    removed: dict[str, dict[str, Removed]] = {str(name): {} for name in sorted(node["node"].unique())}
    for column, watts in background.items():
        rest = node[column].to_numpy(dtype=np.float64) - watts
        dynamic[column] = np.maximum(rest, 0.0)
        noise = _NOISE * deviation.get(column, np.zeros(len(node)))
        for name, rows in node.groupby("node").indices.items():
            cut = -rest[rows][rest[rows] < 0]
            removed[str(name)][column] = Removed(
                watts=float(watts[rows].mean()),
                rows=len(rows),
                clipped=len(cut),
                cut_watts=float(cut.mean()) if len(cut) else 0.0,
                beyond_noise=int((rest[rows] < -noise[rows]).sum()),
            )
    return dynamic, removed


def clipping_warnings(removed: Mapping[str, Mapping[str, Removed]]) -> list[str]:
    """A sentence for every node of which too many rows were below the background and its noise."""
    found = []
    for node, columns in removed.items():
        much = [
            f"{name.removesuffix('_power')} {100 * one.too_low_share:.1f} %"
            for name, one in columns.items()
            if one.too_low_share > MOST_CLIPPED
        ]
        if much:
            found.append(
                f"Of the rows of {node} more than {100 * MOST_CLIPPED:g} % have less power than the background, by more"
                f" than noise, and count as 0 W: {', '.join(much)}."
            )
    return found

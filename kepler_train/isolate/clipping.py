"""Dynamic power: measured power less that of the background, never below 0 W, and what was cut off there counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from kepler_train.isolate.containers import Floats

# Above this share of rows the background was taken for too large, or the meter is noisy: worth a warning.
MOST_CLIPPED = 0.05


class Removed(BaseModel):
    """What one power column of one node lost: `watts` of background on average, and the rows that had less than that.

    `clipped` rows were below the background, by `cut_watts` on average over these rows, and became 0 W.
    """

    model_config = ConfigDict(frozen=True)

    watts: float
    rows: int
    clipped: int
    cut_watts: float

    @property
    def clipped_share(self) -> float:
        """Share of rows that were set to 0 W, 0 to 1."""
        return self.clipped / self.rows if self.rows else 0.0


def dynamic_power(
    node: pd.DataFrame, background: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, dict[str, Removed]]]:
    """Dynamic power (W) of every row by column, and by node and column what was removed."""
    dynamic: dict[str, Floats] = {}
    removed: dict[str, dict[str, Removed]] = {str(name): {} for name in sorted(node["node"].unique())}
    for column, watts in background.items():
        rest = node[column].to_numpy(dtype=np.float64) - watts
        dynamic[column] = np.maximum(rest, 0.0)
        for name, rows in node.groupby("node").indices.items():
            cut = -rest[rows][rest[rows] < 0]
            removed[str(name)][column] = Removed(
                watts=float(watts[rows].mean()),
                rows=len(rows),
                clipped=len(cut),
                cut_watts=float(cut.mean()) if len(cut) else 0.0,
            )
    return dynamic, removed


def clipping_warnings(removed: Mapping[str, Mapping[str, Removed]]) -> list[str]:
    """A sentence for every node of which too many rows were below the background."""
    found = []
    for node, columns in removed.items():
        much = [
            f"{name.removesuffix('_power')} {100 * one.clipped_share:.1f} % (by {one.cut_watts:.2f} W on average)"
            for name, one in columns.items()
            if one.clipped_share > MOST_CLIPPED
        ]
        if much:
            found.append(
                f"Of the rows of {node} more than {100 * MOST_CLIPPED:g} % have less power than the background and"
                f" count as 0 W: {', '.join(much)}."
            )
    return found

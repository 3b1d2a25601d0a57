"""What isolation did, in one file for the steps and readers after it."""

from __future__ import annotations

import pandas as pd
from pydantic import BaseModel, ConfigDict

from kepler_train.columns import NODE
from kepler_train.isolate.clipping import Removed, clipping_warnings
from kepler_train.isolate.isolation import Isolated

ISOLATION = "isolation.json"


class GroupOutcome(BaseModel):
    """One feature group, everything by node and power column.

    `weights` are those of the attribution rule by feature, the largest being 1; `unattributed` is the share of dynamic
    energy in windows in which no container did any work that has a weight, 0 to 1.
    """

    model_config = ConfigDict(frozen=True)

    removed: dict[str, dict[str, Removed]]
    weights: dict[str, dict[str, dict[str, float]]]
    unattributed: dict[str, dict[str, float]]


class Isolation(BaseModel):
    """The isolator that was asked for, the one used and why, the rule of attribution, and the figures."""

    model_config = ConfigDict(frozen=True)

    asked: str
    isolator: str
    why: str
    attribution: str
    groups: dict[str, GroupOutcome] = {}

    def warnings(self) -> list[str]:
        """Return sentences that a reader of the models should know, each once."""
        return list(dict.fromkeys(text for group in self.groups.values() for text in clipping_warnings(group.removed)))

    def clipped(self) -> dict[str, int]:
        """Return the rows set to 0 W by power column, over all nodes; of several feature groups the most."""
        most: dict[str, int] = {}
        for group in self.groups.values():
            for column in {name for columns in group.removed.values() for name in columns}:
                rows = sum(columns[column].clipped for columns in group.removed.values())
                most[column] = max(most.get(column, 0), rows)
        return dict(sorted(most.items()))

    def unattributed_share(self) -> float:
        """Return the largest share of the dynamic energy of a node and column that belongs to no container, 0 to 1."""
        nodes = (columns for group in self.groups.values() for columns in group.unattributed.values())
        return max((share for columns in nodes for share in columns.values()), default=0.0)


def outcome_of(isolated: Isolated) -> GroupOutcome:
    """Return the figures of one feature group."""
    unattributed: dict[str, dict[str, float]] = {name: {} for name in isolated.removed}
    for column, shares in isolated.shares.items():
        watts = pd.DataFrame({"left": shares.left(), "all": shares.watts})
        energy = watts.groupby(isolated.node[NODE].to_numpy()).sum()
        for name, row in energy.iterrows():
            unattributed[str(name)][column] = float(row["left"] / row["all"]) if row["all"] > 0 else 0.0
    by_column = {column: shares.as_weights() for column, shares in isolated.shares.items()}
    weights = {name: {column: of_node[name] for column, of_node in by_column.items()} for name in isolated.removed}
    return GroupOutcome(removed=isolated.removed, weights=weights, unattributed=unattributed)

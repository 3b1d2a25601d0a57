"""Rows that all trainers of one source, output type and feature group learn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import pandas as pd

from kepler_train.columns import TIME, WORKLOAD
from kepler_train.extract.row_times import RowTimes
from kepler_train.machine.spec import MachineSpec
from kepler_train.models.hull import Hull
from kepler_train.train.training_set import TrainingSet


@dataclass(frozen=True)
class TrainingRows:
    """Rows of nodes, sorted by node and time, the training set of each component, and the machine.

    Derived values are cached: ten trainers and more need the same.
    """

    rows: pd.DataFrame
    features: list[str]
    sets: Mapping[str, TrainingSet]
    machine: MachineSpec | None = None
    features_from: str = "group"
    note: str = ""  # on the choice of features

    @cached_property
    def window(self) -> tuple[datetime, datetime]:
        """The times of the first and the last row."""
        return self.rows[TIME].min(), self.rows[TIME].max()

    @cached_property
    def window_seconds(self) -> float:
        """The length of the window of one row."""
        return RowTimes.of(self.rows).seconds

    @cached_property
    def workloads(self) -> dict[str, int]:
        """The rows of each workload, in the order in which they ran."""
        counted = self.rows[WORKLOAD].value_counts(sort=False)
        return {str(name): int(count) for name, count in counted.items()}

    def hull(self, features: tuple[str, ...], *, parts: bool) -> dict[str, Any]:
        """Return the hull of the rows over some features, as in metadata; with `parts` also of what is below it."""
        if (features, parts) not in self._hulls:
            self._hulls[features, parts] = Hull.of(self.rows, list(features), parts=parts).as_dict()
        return self._hulls[features, parts]

    @cached_property
    def _hulls(self) -> dict[tuple[tuple[str, ...], bool], dict[str, Any]]:
        return {}

"""The rows that one model of one component is fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.columns import WORKLOAD, times_of
from kepler_train.models.component import Matrix, Watts


@dataclass(frozen=True)
class TrainingSet:
    """Rows of windows, sorted by node and time.

    `workloads` and `times` (s since 1970) say which rows belong together, for trainers that hold some of them out;
    no model may look at them. `main` is the column of the feature that stands for the component's load. Without
    `intercept` no work is 0 W (DynPower). A `draft` is fitted to compare trainers only: less care will do.
    """

    features: list[str]
    X: Matrix
    y: Watts
    workloads: npt.NDArray[np.object_]
    times: npt.NDArray[np.float64]
    component: str = "package"
    main: int = 0
    intercept: bool = True
    seed: int = 0
    draft: bool = False

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: npt.NDArray[Any]) -> TrainingSet:
        """Return some of the rows, by position or by mask."""
        return taken({self.component: self}, rows)[self.component]


def taken(sets: Mapping[str, TrainingSet], rows: npt.NDArray[Any]) -> dict[str, TrainingSet]:
    """Return some of the rows of every component; arrays that components share are taken once."""
    parts: dict[int, npt.NDArray[Any]] = {}

    def part(whole: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if id(whole) not in parts:
            parts[id(whole)] = whole[rows]
            parts[id(whole)].flags.writeable = False  # no trainer may change what others look at
        return parts[id(whole)]

    return {
        component: replace(data, X=part(data.X), y=part(data.y), workloads=part(data.workloads), times=part(data.times))
        for component, data in sets.items()
    }


def training_sets(
    frame: pd.DataFrame, features: list[str], power: Mapping[str, str], group: str, *, intercept: bool, seed: int
) -> dict[str, TrainingSet]:
    """Return the rows of a frame for each component, with the power (W) in its column to learn.

    All trainers look at the same numbers, so no trainer may change them.
    """
    rows = frame[features].to_numpy(dtype=np.float64), frame[WORKLOAD].to_numpy(dtype=object), times_of(frame)
    watts = {component: frame[column].to_numpy(dtype=np.float64, copy=True) for component, column in power.items()}
    for numbers in (*rows, *watts.values()):
        numbers.flags.writeable = False
    X, workloads, times = rows
    sets = {}
    for component, y in watts.items():
        main = catalog().group(group).main_feature(component)
        place = features.index(main) if main in features else 0
        sets[component] = TrainingSet(features, X, y, workloads, times, component, place, intercept, seed)
    return sets

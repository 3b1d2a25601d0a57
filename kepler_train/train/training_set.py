"""What one model of one component is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.catalog import catalog
from kepler_train.models.component import Matrix, Watts

_EPOCH = pd.Timestamp(0, tz="UTC")


@dataclass(frozen=True)
class TrainingSet:
    """Rows of windows, sorted by node and time.

    `workloads` and `times` (s since 1970) say which rows belong together, for trainers that hold some of them out;
    no model may look at them. `main` is the column of the feature that stands for the component's load. Without
    `intercept` no work is 0 W (DynPower).
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

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: npt.NDArray[Any]) -> TrainingSet:
        """Some of the rows, by position or by mask."""
        return replace(self, X=self.X[rows], y=self.y[rows], workloads=self.workloads[rows], times=self.times[rows])

    def of(self, columns: list[int]) -> TrainingSet:
        """Some of the columns; the main one becomes the first where it is not among them."""
        main = columns.index(self.main) if self.main in columns else 0
        return replace(self, features=[self.features[column] for column in columns], X=self.X[:, columns], main=main)


def training_set(
    frame: pd.DataFrame, features: list[str], component: str, column: str, group: str, *, intercept: bool, seed: int
) -> TrainingSet:
    """The rows of a frame, with the power (W) in `column` to learn."""
    main = catalog().group(group).main_feature(component)
    return TrainingSet(
        features,
        frame[features].to_numpy(dtype=np.float64),
        frame[column].to_numpy(dtype=np.float64),
        frame["workload"].to_numpy(dtype=object),
        times_of(frame),
        component,
        features.index(main) if main in features else 0,
        intercept,
        seed,
    )


def times_of(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """When the window of each row ended (s since 1970)."""
    return np.asarray((frame["time"] - _EPOCH).dt.total_seconds(), dtype=np.float64)

"""What is said of estimates in a few figures, gathered part by part."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from kepler_train.estimate.estimates import rows_trained_on
from kepler_train.models.metadata import ModelMetadata


@dataclass
class ComponentFigures:
    """Sums over the rows of one component; those of errors are over rows with measured power."""

    rows: int = 0
    watts: float = 0.0
    outside: int = 0
    measured: int = 0
    deviations: float = 0.0  # W
    with_interval: int = 0
    in_interval: int = 0

    @property
    def mean(self) -> float:
        """Return the mean of the estimates (W)."""
        return self.watts / self.rows

    @property
    def off(self) -> float:
        """Return the mean absolute difference from what was measured (W)."""
        return self.deviations / self.measured

    @property
    def inside(self) -> float:
        """Return the share of measured power that lies in the interval."""
        return self.in_interval / self.with_interval

    def add(self, estimated: pd.DataFrame) -> None:
        """Add the rows of a part."""
        self.rows += len(estimated)
        self.watts += float(estimated["predicted"].sum())
        self.outside += int(estimated["outside"].sum())
        known = estimated[estimated["measured"].notna()]
        self.measured += len(known)
        self.deviations += float((known["predicted"] - known["measured"]).abs().sum())
        self.with_interval += int(known["low"].notna().sum())
        self.in_interval += int(known["measured"].between(known["low"], known["high"]).sum())


@dataclass
class Summary:
    """Figures of every component, in the model's order, and the number of rows of the time of training."""

    metadata: ModelMetadata
    components: dict[str, ComponentFigures] = field(default_factory=dict)
    _of_training_time: int = 0

    def add(self, rows: pd.DataFrame, estimated: pd.DataFrame) -> None:
        """Add a part: its rows, and what `estimates` returned for them."""
        for component, own in estimated.groupby("component", sort=False):
            self.components.setdefault(str(component), ComponentFigures()).add(own)
        self._of_training_time += rows_trained_on(self.metadata, rows)

    @property
    def outside(self) -> int:
        """Return how many rows are unlike those of training, by the component with the most."""
        return max((figures.outside for figures in self.components.values()), default=0)

    @property
    def rows_trained_on(self) -> int:
        """Return how many rows with measured power are no test of the model."""
        measured = any(figures.measured for figures in self.components.values())
        return self._of_training_time if measured else 0

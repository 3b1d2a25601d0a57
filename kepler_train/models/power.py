"""A power model: the models of all components of one source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kepler_train.errors import DataError, UserError
from kepler_train.models.component import ModelClass, Watts
from kepler_train.models.narrow import Fitted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PowerModel:
    """One model per component, each over features of its own."""

    trainer: str
    node_type: int
    components: Mapping[str, Fitted]

    @property
    def name(self) -> str:
        """`<trainer>_<node type>`."""
        return f"{self.trainer}_{self.node_type}"

    @property
    def features(self) -> list[str]:
        """Every feature that a component looks at."""
        return sorted({feature for fitted in self.components.values() for feature in fitted.features})

    @property
    def model_class(self) -> ModelClass:
        """How clients of other tools read the model, when all its components are read alike."""
        classes = {fitted.model.model_class for fitted in self.components.values()}
        return classes.pop() if len(classes) == 1 else "kepler-train"

    def predict(self, frame: pd.DataFrame) -> dict[str, Watts]:
        """Power (W) by component for every row; the frame's columns may come in any order."""
        return self.watts(self.columns_of(frame))

    def watts(self, columns: Mapping[str, Watts]) -> dict[str, Watts]:
        """Power (W) by component, from a column per feature."""
        rows = len(next(iter(columns.values()), ()))
        if not rows:  # which some models refuse
            return {component: np.empty(0) for component in self.components}
        return {
            component: fitted.model.predict(np.column_stack([columns[feature] for feature in fitted.features]))
            for component, fitted in self.components.items()
        }

    def columns_of(self, frame: pd.DataFrame) -> dict[str, Watts]:
        """The columns of a frame that the model looks at; a missing one or a missing value is refused.

        Features of earlier windows are added where the frame has them not.
        """
        from kepler_train.models.lags import MARK, lags_of, with_lags, without_lag

        absent = [feature for feature in self.features if MARK in feature and feature not in frame.columns]
        now = sorted({without_lag(feature) for feature in absent})
        columns = {name: self.numbers(frame, name) for name in sorted({*self.features, *now} - {*absent})}
        if absent:
            before = with_lags(frame, now, lags_of(absent))
            columns |= {name: before[name].to_numpy(dtype=np.float64) for name in absent}
        return {feature: columns[feature] for feature in self.features}

    def numbers(self, frame: pd.DataFrame, name: str) -> Watts:
        """A column that the model needs; one that is missing or has no number somewhere is refused."""
        if name not in frame.columns:
            missing = [one for one in self.features if "@" not in one and one not in frame.columns]
            raise UserError(f"The model {self.name} needs {', '.join(missing or [name])}, which the data do not have.")
        try:
            numbers: Watts = frame[name].to_numpy(dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise UserError(f"The column {name} has something else than numbers: {error}.") from None
        if unknown := int(np.sum(~np.isfinite(numbers))):
            raise DataError(
                f"{unknown} of {len(frame)} rows have no finite value of {name}, which the model {self.name} needs:"
                " leave them out."
            )
        return numbers

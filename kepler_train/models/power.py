"""A power model: the models of all components of one source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kepler_train.errors import DataError, UserError
from kepler_train.model_key import model_name
from kepler_train.models.component import ModelClass, Vector, Watts
from kepler_train.models.fitted import Fitted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PowerModel:
    """One model per component, each of its own features."""

    trainer: str
    node_type: int
    components: Mapping[str, Fitted]

    @property
    def name(self) -> str:
        """Return `<trainer>_<node type>`."""
        return model_name(self.trainer, self.node_type)

    @property
    def features(self) -> list[str]:
        """Return every feature that a component reads."""
        return sorted({feature for fitted in self.components.values() for feature in fitted.features})

    @property
    def model_class(self) -> ModelClass:
        """Return how clients of other tools read the model; `kepler-train` where its components differ."""
        classes = {fitted.model.model_class for fitted in self.components.values()}
        return classes.pop() if len(classes) == 1 else "kepler-train"

    def predict(self, frame: pd.DataFrame) -> dict[str, Watts]:
        """Return the power (W) of every row by component; the frame's columns may come in any order."""
        return self.watts(self.columns_of(frame))

    def watts(self, columns: Mapping[str, Vector]) -> dict[str, Watts]:
        """Return the power (W) of every row by component, from a column per feature."""
        rows = len(next(iter(columns.values()), ()))
        if not rows:  # some models refuse none
            return {component: np.empty(0) for component in self.components}
        return {
            component: fitted.model.predict(np.column_stack([columns[feature] for feature in fitted.features]))
            for component, fitted in self.components.items()
        }

    def columns_of(self, frame: pd.DataFrame) -> dict[str, Vector]:
        """Return the columns of a frame that the model reads. Refuse a missing column or value.

        Features of earlier windows are computed where the frame does not have them.
        """
        from kepler_train.models.lags import MARK, lags_of, with_lags, without_lag

        absent = [feature for feature in self.features if MARK in feature and feature not in frame.columns]
        current = sorted({without_lag(feature) for feature in absent})
        columns = {name: self.numbers(frame, name) for name in sorted({*self.features, *current} - {*absent})}
        if absent:
            lagged = with_lags(frame, current, lags_of(absent))
            columns |= {name: lagged[name].to_numpy(dtype=np.float64) for name in absent}
        return {feature: columns[feature] for feature in self.features}

    def numbers(self, frame: pd.DataFrame | Mapping[str, npt.ArrayLike], name: str) -> Vector:
        """Return a column that the model needs; refuse one that is missing or not finite in some row."""
        if name not in frame:
            missing = [feature for feature in self.features if "@" not in feature and feature not in frame]
            raise UserError(f"The model {self.name} needs {', '.join(missing or [name])}, which the data do not have.")
        try:
            numbers: Vector = np.atleast_1d(np.asarray(frame[name], dtype=np.float64))
        except (ValueError, TypeError) as error:
            raise UserError(f"The column {name} has something else than numbers: {error}.") from None
        if unknown := int(np.sum(~np.isfinite(numbers))):
            raise DataError(
                f"{unknown} of {len(numbers)} rows have no finite value of {name}, which the model {self.name} needs:"
                " leave them out."
            )
        return numbers

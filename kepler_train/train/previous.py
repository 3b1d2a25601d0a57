"""The present version of a pipeline, published or in its folder, that a new one is compared with.

A run keeps it with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd

from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn
from kepler_train.model_key import ModelKey, model_name
from kepler_train.models import PowerModel, Watts
from kepler_train.models.artifact import read_model
from kepler_train.models.lags import MARK, lags_of, with_lags, without_lag
from kepler_train.models.metadata import ModelMetadata

BEST, BEST_VERSION = "previous_best", "previous_version"


@dataclass(frozen=True)
class Previous:
    """A model that was published before, with its metadata."""

    model: PowerModel
    metadata: ModelMetadata

    def overlaps(self, start: datetime) -> bool:
        """Tell whether it was trained on rows after `start`, and may have seen what it is judged by."""
        return self.metadata.end is None or self.metadata.end > start

    def watts(self, rows: pd.DataFrame, components: list[str]) -> dict[str, Watts] | None:
        """Return its predictions for rows (W by component); None where it does not know every component."""
        try:
            predicted = self.model.predict(_with_earlier_windows(rows, self.model.features))
        except KeplerTrainError as error:
            warn(f"The model published before is not compared with: {error}")
            return None
        return {name: predicted[name] for name in components} if set(components) <= set(predicted) else None


def _with_earlier_windows(rows: pd.DataFrame, needed: list[str]) -> pd.DataFrame:
    """Return the rows with the features of earlier windows that a model needs and they lack."""
    lagged = [name for name in needed if MARK in name and name not in rows.columns]
    base = sorted({without_lag(name) for name in lagged} & set(rows.columns))
    return with_lags(rows, base, lags_of(lagged)) if lagged else rows


def read_previous(folder: Path) -> Previous:
    """Read a model that was published before."""
    return Previous(*read_model(folder))


def best_before(kept: Path | None, key: ModelKey, node_type: int) -> Previous | None:
    """Return the best model of the same source, output type, group and node type in what the plan kept."""
    folders = sorted((kept / BEST / str(key.family)).glob(model_name("*", node_type))) if kept else []
    try:
        return read_previous(folders[0]) if folders else None
    except KeplerTrainError as error:
        warn(f"The model published before cannot be used: {error}")
        return None

"""The version of a pipeline that is there now, published or in its folder: what a new one is compared with.

A run keeps it with its plan, so that its later steps see what the plan saw, whatever is published meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from kepler_train.errors import KeplerTrainError
from kepler_train.events import warn
from kepler_train.models import PowerModel, Watts
from kepler_train.models.artifact import read_model

BEST = "previous_best"
# The spec of a pipeline, in its folder.
ARGUMENTS = "train_arguments.json"


@dataclass(frozen=True)
class Previous:
    """A model that was published before, with its metadata."""

    model: PowerModel
    metadata: Mapping[str, Any]

    def overlaps(self, start: datetime) -> bool:
        """Whether it was trained on rows after `start`, and may have seen what it is judged by."""
        window = self.metadata.get("window")
        return not window or datetime.fromisoformat(window[1]) > start

    def watts(self, rows: pd.DataFrame, components: list[str]) -> dict[str, Watts] | None:
        """What it says about rows (W by component); None where it cannot say it of every component."""
        try:
            said = self.model.predict(rows)
        except KeplerTrainError as error:
            warn(f"The model published before is not compared with: {error}")
            return None
        return {name: said[name] for name in components} if set(components) <= set(said) else None


def best_before(kept: Path | None, part: str) -> Previous | None:
    """The best model of the same source, output type and group in what the plan kept."""
    family = part.rpartition("/")[0]
    return _read(next(iter(sorted((kept / BEST / family).glob("*"))), None)) if kept else None


def _read(folder: Path | None) -> Previous | None:
    if folder is None or not folder.is_dir():
        return None
    try:
        return Previous(*read_model(folder))
    except KeplerTrainError as error:
        warn(f"The model published before cannot be used: {error}")
        return None

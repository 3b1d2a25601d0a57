"""Random subsets of the rows, for methods whose cost does not allow all of them."""

from __future__ import annotations

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.train.training_set import TrainingSet


def subsample(data: TrainingSet, max_rows: int) -> TrainingSet:
    """Return at most `max_rows` rows, drawn by the seed and in their order."""
    if len(data) <= max_rows:
        return data
    return data.take(np.sort(np.random.default_rng(data.seed).choice(len(data), max_rows, replace=False)))


def subsample_note(trainer: str, rows: int) -> str | None:
    """Return the note for a trainer that does not use all of so many rows."""
    entry = catalog().trainers.get(trainer)
    max_rows = entry.settings.get("max_rows") if entry else None
    if max_rows is None or rows <= max_rows:
        return None
    return f"{trainer} looks at {max_rows:,} of {rows:,} rows, drawn by the seed"

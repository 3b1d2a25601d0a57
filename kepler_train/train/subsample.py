"""A part of the rows, for methods that cannot look at any number of them."""

from __future__ import annotations

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.train.training_set import TrainingSet


def subsample(data: TrainingSet, rows: int) -> TrainingSet:
    """So many rows drawn by the seed, in their order; all where there are no more."""
    if len(data) <= rows:
        return data
    return data.take(np.sort(np.random.default_rng(data.seed).choice(len(data), rows, replace=False)))


def subsample_note(trainer: str, rows: int) -> str | None:
    """What to say of a trainer that does not look at all of so many rows."""
    entry = catalog().trainers.get(trainer)
    limit = entry.settings.get("max_rows") if entry else None
    if limit is None or rows <= limit:
        return None
    return f"{trainer} looks at {limit:,} of {rows:,} rows, drawn by the seed"

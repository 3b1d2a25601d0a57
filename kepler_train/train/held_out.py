"""Held-out predictions of a trainer under every protocol: what all error figures are made from."""

from __future__ import annotations

import pandas as pd

from kepler_train.errors import DataError
from kepler_train.events import progress
from kepler_train.train.protocols import Protocol, splits
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import training_set


def held_out(
    trainer: Trainer,
    frame: pd.DataFrame,
    features: list[str],
    power: dict[str, str],
    group: str,
    intercept: bool,
    folds: int,
    seed: int,
) -> pd.DataFrame:
    """Measured and predicted power (W) of every held-out row: protocol, time, node, workload, component.

    `power` maps components to columns of the frame. Each fold's model has seen its own training rows only.
    """
    if len(frame) < 2 * folds:
        raise DataError(f"{len(frame)} rows are too few to hold out {folds} parts of them: choose a longer window.")
    sets = {
        component: training_set(frame, features, component, column, group, intercept=intercept, seed=seed)
        for component, column in power.items()
    }
    plans = [(protocol, *rows) for protocol in Protocol for rows in splits(protocol, frame, folds, seed)]
    pieces = []
    with progress(f"train: {trainer.name}, held out", len(plans) * len(power), "fits") as shown:
        for protocol, inside, outside in plans:
            if not len(inside):
                continue  # a single workload: there is nothing to learn from without it
            for component, data in sets.items():
                model = trainer.fit(data.take(inside))
                rows = frame.loc[outside, ["time", "node", "workload"]]
                pieces.append(
                    rows.assign(
                        protocol=str(protocol),
                        component=component,
                        measured=data.y[outside],
                        predicted=model.predict(data.X[outside]),
                    )
                )
                shown.advance(1)
    return pd.concat(pieces, ignore_index=True)

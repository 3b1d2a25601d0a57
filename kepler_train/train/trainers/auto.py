"""The trainers that err least on held-out parts of the training rows, together: no choice is left to the user.

Trainers are chosen by rows that they did not see, and all of that happens inside the rows that `fit` is given: who
holds rows out from `auto` judges its choice too. Several together err less than the best of them under load that none
of them has seen, because their errors differ there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from kepler_train.arrays import Positions
from kepler_train.catalog import catalog
from kepler_train.catalog.own_trainers import own_trainers
from kepler_train.errors import DataError, UserError
from kepler_train.evaluate.protocols import GAP
from kepler_train.models import ComponentModel, NarrowModel
from kepler_train.models.middle import MiddleModel
from kepler_train.models.parts import Part, read_parts
from kepler_train.samples.schedule import IDLE
from kepler_train.train.left_out import LeftOut
from kepler_train.train.subsample import subsample
from kepler_train.train.trainer import TRAINERS, Trainer, trainer
from kepler_train.train.trainers.linear import LinearRegressionTrainer
from kepler_train.train.training_set import TrainingSet


class AutoTrainer:
    """Of the best trainers by held-out mean absolute error, the median prediction for each row.

    Each of them sees the window before a row too, where a row has one: containers come and go, so for DynPower none
    does.
    """

    name: ClassVar[str] = "auto"
    additive: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    lags: ClassVar[int] = 1
    lags_optional: ClassVar[bool] = True

    def __init__(self) -> None:
        self.chosen: dict[str, list[str]] = {}  # of the last fit of each component
        self._failed = LeftOut()  # of all fits

    @property
    def left_out(self) -> dict[str, str]:
        """The trainers that failed in some fit, and why."""
        return dict(self._failed.reasons)

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> ComponentModel | NarrowModel:  # noqa: ARG002
        """Choose, then fit each of the best to all rows."""
        if np.ptp(data.y) == 0:  # there is nothing to choose by
            return LinearRegressionTrainer().fit(data)
        settings = catalog().trainer(self.name).settings
        ranked = by_error(data, settings["folds"], settings["rows_to_choose_by"], self._failed)
        fitted = _fitted(ranked, data, settings["best"], self._failed)
        self.chosen[data.component], models = list(fitted), list(fitted.values())
        aside = min(settings["aside"], (len(models) - 1) // 2)
        return MiddleModel([Part.of(model, len(data.features)) for model in models], aside)


auto = AutoTrainer  # by the name that users know


def by_error(data: TrainingSet, count: int, max_rows: int, failed: LeftOut) -> list[Trainer]:
    """All trainers that can be chosen, the one with the least held-out error (W) first; those that fail are noted."""
    splits = list(folds(data, count))
    if not splits:  # too few rows to hold any out
        return [LinearRegressionTrainer()]
    candidates = {one.name: one for one in _candidates(data, failed)}
    errors: dict[str, list[float]] = {name: [] for name in candidates}
    for inside, outside in splits:
        rows = replace(subsample(data.take(inside), max_rows), draft=True)
        for name in list(errors):
            try:
                errors[name].append(_error(candidates[name].fit(rows), data.take(outside)))
            except (Exception, SystemExit) as error:  # a trainer that breaks down is not chosen
                failed.add(name, data.component, error)
                del errors[name]
    return [candidates[name] for name in sorted(errors, key=lambda name: float(np.mean(errors[name])))]


def folds(data: TrainingSet, count: int) -> Iterator[tuple[Positions, Positions]]:
    """Rows to learn from and rows to judge by: whole workloads where there are enough, else contiguous blocks.

    Idle rows are always learnt from where the schedule names them: every machine has some.
    """
    loads = [load for load in dict.fromkeys(data.workloads) if load != IDLE]
    if len(loads) >= count:
        part = {load: number * count // len(loads) for number, load in enumerate(loads)}
        block = np.array([part.get(load, -1) for load in data.workloads])
    else:
        block = np.arange(len(data)) * count // len(data)
    for number in range(count):
        held = block == number
        near = np.convolve(held, np.ones(2 * GAP + 1))[GAP : GAP + len(data)] > 0
        inside, outside = np.flatnonzero(~near), np.flatnonzero(held)
        if len(inside) and len(outside):
            yield inside, outside


def _candidates(data: TrainingSet, failed: LeftOut) -> Iterator[Trainer]:
    """Trainers of the columns there are, those of this version and those that users added."""
    for name in [*TRAINERS, *own_trainers()]:
        try:
            one = trainer(name) if name != AutoTrainer.name else None
        except UserError as error:  # the file of a user; where it is on this machine is of no use to readers of a card
            failed.add(name, data.component, error.__cause__ or error)
            continue
        if one and one.lags == 0:
            yield one


def _fitted(
    ranked: list[Trainer], data: TrainingSet, count: int, failed: LeftOut
) -> dict[str, ComponentModel | NarrowModel]:
    """The models of the first so many trainers that can learn from all rows, by name."""
    models: dict[str, ComponentModel | NarrowModel] = {}
    for one in ranked:
        if len(models) == count:
            break
        try:
            model = one.fit(data)
            if one.name not in TRAINERS:
                _check_readable(model, one.name, len(data.features))
            models[one.name] = model
        except (Exception, SystemExit) as error:
            failed.add(one.name, data.component, error)
    if not models:
        raise DataError(f"No trainer can learn {data.component} from {len(data)} rows.")
    return models


def _check_readable(model: ComponentModel | NarrowModel, name: str, features: int) -> None:
    """Refuse a model of a user's trainer that cannot be read back: the others would be lost with it."""
    read_parts({"parts": [Part.of(model, features).written()]}, Path(name), features)


def _error(model: ComponentModel | NarrowModel, held: TrainingSet) -> float:
    """Mean absolute error (W) on rows that it did not see."""
    said = model.predict(held.X)
    if said.shape != held.y.shape or not np.isfinite(said).all():
        raise ValueError("it does not say one number of watts for each row")
    return float(np.abs(said - held.y).mean())

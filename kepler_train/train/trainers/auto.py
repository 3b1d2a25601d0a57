"""Median prediction (W) of the trainers with the least held-out error: the user has nothing to choose.

Trainers are chosen by rows that they did not see, and all of that happens inside the rows that `fit` is given, so
holding rows out from `auto` judges its choice too. The ensemble errs less than its best member under load that none of
them has seen, because their errors differ there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kepler_train.catalog import catalog
from kepler_train.catalog.user_trainers import user_trainers
from kepler_train.errors import DataError, KeplerTrainError, UserError
from kepler_train.evaluate.protocols import GAP
from kepler_train.events import warn
from kepler_train.models import ComponentModel, SubsetModel
from kepler_train.models.ensemble import MedianEnsemble, Member, read_members
from kepler_train.samples.schedule import IDLE
from kepler_train.train.methods.subsample import subsample
from kepler_train.train.trainer import Trainer, house_trainers, trainer
from kepler_train.train.trainers.linear import LinearRegressionTrainer
from kepler_train.train.training_set import TrainingSet


class TrainerFailures:
    """The trainers that failed in any fit of one model, with every component and fold."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self._lock = threading.Lock()  # folds may be fitted at once

    def add(self, name: str, component: str, error: BaseException) -> None:
        """Record a trainer that fails, and warn the first time: it mostly fails in every fold, for one reason."""
        sentence = " ".join(str(error).split())
        reason = sentence if isinstance(error, KeplerTrainError) else f"{type(error).__name__}: {sentence}"
        with self._lock:
            first = name not in self.reasons
            self.reasons.setdefault(name, reason.rstrip(".: "))
        if first:
            warn(f"auto: {name} fails and is left out, for {component} at least: {self.reasons[name]}")


class AutoTrainer(Trainer):
    """Median of the predictions of the best trainers by held-out mean absolute error.

    Each of them reads the window before a row too, where rows have one: containers come and go, so not for DynPower.
    """

    name = "auto"
    lags = 1
    lags_optional = True

    def __init__(self) -> None:
        self.chosen: dict[str, list[str]] = {}  # trainers by component, of its last fit
        self._failures = TrainerFailures()  # of all fits

    @property
    def left_out(self) -> dict[str, str]:
        """Return the trainers that failed in any fit, with their reasons."""
        return dict(self._failures.reasons)

    def fit(self, data: TrainingSet, before: ComponentModel | None = None) -> ComponentModel | SubsetModel:
        """Return the ensemble of the best trainers, each fitted to all rows."""
        if np.ptp(data.y) == 0:  # all trainers err alike
            return LinearRegressionTrainer().fit(data)
        settings = catalog().trainer(self.name).settings
        ranked = rank_trainers(data, settings["folds"], settings["rows_to_choose_by"], self._failures)
        models = _fit_best(ranked, data, settings["best"], self._failures)
        self.chosen[data.component] = list(models)
        trim = min(settings["aside"], (len(models) - 1) // 2)
        return MedianEnsemble([Member.of(model, len(data.features)) for model in models.values()], trim)


auto = AutoTrainer  # by the name that users know


def rank_trainers(data: TrainingSet, count: int, max_rows: int, failures: TrainerFailures) -> list[Trainer]:
    """Return all trainers by held-out error (W), the least first. Those that fail are recorded and left out."""
    splits = list(folds(data, count))
    if not splits:  # too few rows to hold any out
        return [LinearRegressionTrainer()]
    candidates = {candidate.name: candidate for candidate in _candidates(data, failures)}
    errors: dict[str, list[float]] = {name: [] for name in candidates}
    for inside, held_out in splits:
        rows = replace(subsample(data.take(inside), max_rows), draft=True)
        for name in list(errors):
            try:
                errors[name].append(_held_out_error(candidates[name].fit(rows), data.take(held_out)))
            except (Exception, SystemExit) as error:  # a trainer that breaks down is not chosen
                failures.add(name, data.component, error)
                del errors[name]
    return [candidates[name] for name in sorted(errors, key=lambda name: float(np.mean(errors[name])))]


def folds(data: TrainingSet, count: int) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Yield rows to learn from and rows to hold out: whole workloads where there are enough, else contiguous blocks.

    Idle rows are never held out where the schedule names them: every machine has some.
    """
    loads = [load for load in dict.fromkeys(data.workloads) if load != IDLE]
    if len(loads) >= count:
        fold_of = {load: number * count // len(loads) for number, load in enumerate(loads)}
        fold = np.array([fold_of.get(load, -1) for load in data.workloads])
    else:
        fold = np.arange(len(data)) * count // len(data)
    for number in range(count):
        held_out = fold == number
        near = np.convolve(held_out, np.ones(2 * GAP + 1))[GAP : GAP + len(data)] > 0
        if held_out.any() and not near.all():
            yield np.flatnonzero(~near), np.flatnonzero(held_out)


def _candidates(data: TrainingSet, failures: TrainerFailures) -> Iterator[Trainer]:
    """Yield the trainers without lags, those of this version and those of the user."""
    for name in [*house_trainers(), *user_trainers()]:
        if name == AutoTrainer.name:
            continue
        try:
            candidate = trainer(name)
        except UserError as error:  # a user's file; its path on this machine is of no use to readers of a model card
            failures.add(name, data.component, error.__cause__ or error)
            continue
        if candidate.lags == 0:
            yield candidate


def _fit_best(
    ranked: list[Trainer], data: TrainingSet, count: int, failures: TrainerFailures
) -> dict[str, ComponentModel | SubsetModel]:
    """Return the models of the first `count` trainers that can learn from all rows, by name."""
    models: dict[str, ComponentModel | SubsetModel] = {}
    for candidate in ranked:
        if len(models) == count:
            break
        try:
            model = candidate.fit(data)
            if candidate.name in user_trainers():
                _check_readable(model, candidate.name, len(data.features))
            models[candidate.name] = model
        except (Exception, SystemExit) as error:
            failures.add(candidate.name, data.component, error)
    if not models:
        raise DataError(f"No trainer can learn {data.component} from {len(data)} rows.")
    return models


def _check_readable(model: ComponentModel | SubsetModel, name: str, features: int) -> None:
    """Refuse a model of a user's trainer that cannot be read back: the whole ensemble would be lost with it."""
    read_members({"parts": [Member.of(model, features).as_dict()]}, Path(name), features)


def _held_out_error(model: ComponentModel | SubsetModel, held_out: TrainingSet) -> float:
    """Return the mean absolute error (W) on held-out rows."""
    prediction = model.predict(held_out.X)
    if prediction.shape != held_out.y.shape or not np.isfinite(prediction).all():
        raise ValueError("it does not say one number of watts for each row")
    return float(np.abs(prediction - held_out.y).mean())

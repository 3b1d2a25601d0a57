"""Held-out predictions of a trainer under every protocol: all error figures come from these."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from kepler_train.columns import NODE, TIME, WORKLOAD
from kepler_train.errors import DataError, KeplerTrainError, UserError
from kepler_train.evaluate.baselines import CPU_TIME, CPU_TIME_FEATURES, MEAN, PREVIOUS
from kepler_train.evaluate.judged import Coded, HeldOut
from kepler_train.evaluate.lines import rising_line
from kepler_train.evaluate.protocols import Protocol, Split, all_splits
from kepler_train.events import progress
from kepler_train.models import ComponentModel, Matrix, SubsetModel, Watts
from kepler_train.train.trainer import Trainer
from kepler_train.train.training_set import TrainingSet, taken

# A curve may rise beyond all numbers (W); its error is then beyond every limit, and still a number.
LARGEST = 1e9
# Folds that are fitted at once. A pod has one core unless it is given more.
CORES = "KEPLER_TRAIN_CORES"
# The column with the feature that stands for the load (1/s): pictures show power against it.
LOAD = "load"


@dataclass(frozen=True)
class _Predicted:
    """The predictions of one split for one component by held-out row: powers (W), and the load (1/s)."""

    split: Split
    component: str
    columns: Mapping[str, npt.NDArray[np.floating]]


def held_out(
    trainer: Trainer,
    frame: pd.DataFrame,
    sets: Mapping[str, TrainingSet],
    folds: int,
    before: Mapping[str, ComponentModel] | None = None,
    previous: Mapping[str, Watts] | None = None,
) -> HeldOut:
    """Return measured and predicted power (W) and the load of every held-out row.

    Each fold's model has seen its own training rows only, and goes on from the models `before` as the final one does.
    Beside it stand the trivial models, fitted to the same rows, and the predictions of the `previous` version.
    """
    if len(frame) < 2 * folds:
        raise DataError(f"{len(frame)} rows are too few to hold out {folds} parts of them: choose a longer window.")
    if all(np.ptp(data.y) == 0 for data in sets.values()):
        watts = ", ".join(f"{component} {data.y[0]:g} W" for component, data in sets.items())
        raise DataError(f"Power is the same in all {len(frame)} rows ({watts}): there is nothing to learn.")
    seed = next(iter(sets.values())).seed
    splits = all_splits(frame, folds, seed, trainer.lags)
    constant = {
        component: fit(trainer, data, (before or {}).get(component))
        for component, data in sets.items()
        if np.ptp(data.y) == 0  # whatever the rows, there is one thing to learn
    }
    times = {component: cpu_time(frame, data) for component, data in sets.items()}

    def judge(split: Split) -> list[_Predicted]:
        return [judge_one(data, split) for data in taken(sets, split.inside).values()]

    def judge_one(inside: TrainingSet, split: Split) -> _Predicted:
        component, data = inside.component, sets[inside.component]
        model = constant[component] if component in constant else fit(trainer, inside, (before or {}).get(component))
        predicted = _watts(trainer, model, component, data.X[split.outside])
        x = times[component]
        idle, slope = rising_line(x[split.inside], inside.y, intercept=data.intercept)
        columns = {
            "measured": data.y[split.outside],
            "predicted": np.minimum(predicted, LARGEST),
            MEAN: np.full(len(split.outside), inside.y.mean()),
            CPU_TIME: idle + slope * x[split.outside],
            LOAD: data.X[split.outside, data.main].astype(np.float32),
        }
        if previous:
            columns[PREVIOUS] = previous[component][split.outside]
        return _Predicted(split, component, columns)

    predictions: list[_Predicted] = []
    fits = len(splits) * len(sets)
    with progress(f"train: {trainer.name}, held out", fits, "fits") as shown, ThreadPoolExecutor(cores()) as pool:
        each = pool.map if cores() > 1 else map  # a thread of its own is no help to one core
        for pieces in each(judge, splits):
            predictions += pieces
            shown.advance(len(pieces))
    return _together(frame, predictions)


def fit(trainer: Trainer, data: TrainingSet, before: ComponentModel | None = None) -> ComponentModel | SubsetModel:
    """Fit a model; a trainer that breaks down breaks down alone, in one sentence."""
    try:
        return trainer.fit(data, before)
    except KeplerTrainError:
        raise
    except (Exception, SystemExit) as error:  # a trainer of a user may do anything
        raise DataError(
            f"{trainer.name} cannot learn {data.component} from {len(data)} rows of {len(data.features)} features:"
            f" {_why(error)}."
        ) from error


def _watts(trainer: Trainer, model: ComponentModel | SubsetModel, component: str, rows: Matrix) -> Watts:
    """Return the predictions of a model for held-out rows; refuse a trainer whose model has none."""
    try:
        predicted = np.asarray(model.predict(rows), dtype=np.float64)
    except (Exception, SystemExit) as error:
        raise DataError(f"{trainer.name} made a model of {component} that cannot predict: {_why(error)}.") from error
    if predicted.shape != (len(rows),):
        raise DataError(
            f"{trainer.name} made a model of {component} that gives {predicted.size} numbers for {len(rows)} rows."
        )
    if np.isnan(predicted).any():
        raise DataError(f"{trainer.name} has no number for some rows of {component} that it has not seen.")
    return predicted


def _why(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
    return f"{type(error).__name__}: {first}"


def cpu_time_feature(frame: pd.DataFrame, data: TrainingSet) -> str:
    """Return the feature that counts CPU time, in whichever unit the frame has it; without any, the main feature."""
    complete = (name for name in CPU_TIME_FEATURES if name in frame.columns and not frame[name].isna().any())
    return next(complete, data.features[data.main])


def cpu_time(frame: pd.DataFrame, data: TrainingSet) -> Watts:
    """Return the value of `cpu_time_feature` in every row."""
    name = cpu_time_feature(frame, data)
    return data.X[:, data.main] if name == data.features[data.main] else frame[name].to_numpy(dtype=np.float64)


def cores() -> int:
    """Return how many folds are fitted at once: from the environment, else 1."""
    count = os.environ.get(CORES) or "1"
    if not count.isdecimal() or int(count) < 1:
        raise UserError(f"{CORES} is {count!r}: set it to the number of cores to train with, or leave it unset.")
    return int(count)


def _together(frame: pd.DataFrame, predictions: list[_Predicted]) -> HeldOut:
    """Return all held-out rows in the order of protocols; a split of two protocols is there twice."""
    ordered = [(protocol, piece) for protocol in Protocol for piece in predictions if protocol in piece.split.protocols]
    lengths = [len(piece.split.outside) for _, piece in ordered]
    rows = np.concatenate([piece.split.outside for _, piece in ordered])

    def repeated(names: list[str]) -> Coded:
        every = list(dict.fromkeys(names))
        return Coded(np.repeat([every.index(name) for name in names], lengths), every)

    return HeldOut(
        frame[TIME].to_numpy(dtype="datetime64[ns]").astype(np.int64)[rows],
        Coded.of(frame[NODE]).take(rows),
        Coded.of(frame[WORKLOAD]).take(rows),
        repeated([str(protocol) for protocol, _ in ordered]),
        repeated([piece.component for _, piece in ordered]),
        {name: np.concatenate([piece.columns[name] for _, piece in ordered]) for name in ordered[0][1].columns},
    )

"""Train with a user's trainer in a process of its own: whatever it does there, the other models are trained."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from kepler_train.catalog.own_trainers import own_trainers
from kepler_train.errors import DataError
from kepler_train.events import use_format, used_format
from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec
from kepler_train.train.one_model import train_part
from kepler_train.train.training_rows import Frames


def runs_others_code(key: ModelKey) -> bool:
    """Tell whether a model is trained by code of a user; `auto` chooses among all trainers, also theirs."""
    return key.trainer in own_trainers() or (key.trainer == "auto" and bool(own_trainers()))


def train_apart(frames: Frames, isolated: Path, key: ModelKey, spec: RunSpec, out: Path, kept: Path | None) -> None:
    """Do `train_part` in another process; refuse in one sentence when that process ends before it is done."""
    # A copy of this process might hang: libraries have threads in it.
    with ProcessPoolExecutor(1, get_context("spawn"), use_format, (used_format(),)) as pool:
        try:
            pool.submit(train_part, frames, isolated, key, spec, out, kept).result()
        except BrokenProcessPool:
            raise DataError(f"{key.trainer} ended its process while it learnt, without a word.") from None

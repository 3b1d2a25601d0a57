"""A trainer of a user's own learns in a process of its own: whatever it does to that, the other models are trained."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from kepler_train.catalog.own_trainers import own_trainers
from kepler_train.errors import DataError
from kepler_train.events import use_format, used_format
from kepler_train.spec import RunSpec
from kepler_train.train.one_model import train_part
from kepler_train.train.training_rows import Frames


def runs_others_code(part: str) -> bool:
    """Whether the model of a part is trained by code that is not ours: `auto` chooses among all trainers there are."""
    trainer, own = part.split("/")[3], own_trainers()
    return trainer in own or (trainer == "auto" and bool(own))


def train_apart(frames: Frames, isolated: Path, part: str, spec: RunSpec, out: Path, kept: Path | None) -> None:
    """`train_part` in another process; one that ends before it is done is said in one sentence."""
    # A copy of this process might hang: libraries have threads in it.
    with ProcessPoolExecutor(1, get_context("spawn"), use_format, (used_format(),)) as pool:
        try:
            pool.submit(train_part, frames, isolated, part, spec, out, kept).result()
        except BrokenProcessPool:
            raise DataError(f"{part.split('/')[3]} ended its process while it learnt, without a word.") from None

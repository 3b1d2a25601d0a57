"""Train by a user's code in a process of its own: whatever it does there, the other models are trained."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

from kepler_train.catalog.user_trainers import user_trainers
from kepler_train.errors import DataError
from kepler_train.events import use_format, used_format

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def runs_users_code(trainer: str) -> bool:
    """Return whether a trainer is a user's; `auto` chooses among all trainers, and so may run one."""
    return trainer in user_trainers() or (trainer == "auto" and bool(user_trainers()))


def apart(trainer: str, work: Callable[Given, Returned], *given: Given.args, **named: Given.kwargs) -> Returned:
    """Return what `work` returns in another process; refuse the trainer that ends that process."""
    # A copy of this process might hang: libraries have threads in it.
    with ProcessPoolExecutor(1, get_context("spawn"), use_format, (used_format(),)) as pool:
        try:
            return pool.submit(work, *given, **named).result()
        except BrokenProcessPool:
            raise DataError(f"{trainer} ended its process while it learnt, without a word.") from None

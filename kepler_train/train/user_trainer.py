"""Trainers of users, imported when they are used; one that cannot be used is refused in one sentence."""

from __future__ import annotations

import importlib
import inspect
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kepler_train.errors import UserError

if TYPE_CHECKING:
    from kepler_train.train.trainer import Trainer

_ATTRIBUTES = {"name": str, "additive": bool, "continues": bool, "lags": int}


def load_user_trainer(name: str, place: Path | str) -> Trainer:
    """Return the trainer in a file, or behind an entry point."""
    module, _, called = ("", "", name) if isinstance(place, Path) else place.partition(":")
    try:
        source = _file(place) if isinstance(place, Path) else importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        raise UserError(f"The trainer {name} in {place} cannot be imported: {_sentence(error)}.") from error
    kind_of_trainer = getattr(source, called, None)
    if not inspect.isclass(kind_of_trainer):
        raise UserError(f"{place} has no class {called}: the trainer {name} is to be one.")
    try:
        instance: Any = kind_of_trainer()
    except (Exception, SystemExit) as error:
        raise UserError(f"The trainer {name} in {place} cannot be made: {_sentence(error)}.") from error
    for attribute, kind in _ATTRIBUTES.items():
        if type(getattr(instance, attribute, None)) is not kind:
            raise UserError(f"The trainer {name} in {place} has no {attribute}, to be of type {kind.__name__}.")
    if instance.name != name:
        raise UserError(f"The trainer {name} in {place} calls itself {instance.name}: give it one name.")
    if not callable(getattr(instance, "fit", None)):
        raise UserError(f"The trainer {name} in {place} has no fit(data, before).")
    trainer: Trainer = instance
    return trainer


def _file(file: Path) -> ModuleType:
    module = ModuleType(f"kepler_train_own_{file.stem}")
    sys.modules[module.__name__] = module  # as import does: dataclasses look their module up
    SourceFileLoader(module.__name__, str(file)).exec_module(module)
    return module


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".: ")

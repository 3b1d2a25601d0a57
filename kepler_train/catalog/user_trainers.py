"""Trainers that users add: by name, without importing what they are made of.

| where | its name | what it is |
|---|---|---|
| entry point of the group `kepler_train.trainers` of an installed package | that of the entry point | the class |
| a file in a folder of KEPLER_TRAIN_TRAINERS | that of the file, without .py | the class of the same name |
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from kepler_train.catalog.loading import catalog
from kepler_train.errors import UserError

FOLDERS_VARIABLE = "KEPLER_TRAIN_TRAINERS"  # folders, separated as those of PATH
GROUP = "kepler_train.trainers"


def user_trainers() -> Mapping[str, Path | str]:
    """Return where each trainer of a user is: a file, or the `module:Class` of an entry point."""
    return _find_trainers(os.environ.get(FOLDERS_VARIABLE, ""), tuple(sys.path))


def trainer_names() -> list[str]:
    """Return every trainer that a run may name."""
    return [*catalog().trainers, *user_trainers()]


@cache
def _find_trainers(folders: str, path: tuple[str, ...]) -> dict[str, Path | str]:  # noqa: ARG001  # packages are sought on it
    from importlib.metadata import entry_points

    trainers: dict[str, Path | str] = {}
    places: list[tuple[str, Path | str]] = [
        (file.stem, file) for folder in folders.split(os.pathsep) if folder for file in _files(Path(folder))
    ]
    places += [(point.name, point.value) for point in entry_points(group=GROUP)]
    for name, place in places:
        if not (name.isidentifier() and name.isascii()):
            raise UserError(f"{place} cannot be a trainer: {name!r} is not the name of a class.")
        if name in catalog().trainers:
            raise UserError(f"{place} has the name of another trainer, {name}: give it a name of its own.")
        if trainers.setdefault(name, place) != place:
            raise UserError(f"Two trainers are called {name}: {trainers[name]} and {place}; rename one.")
    return trainers


def _files(folder: Path) -> list[Path]:
    """Return the files of trainers in a folder; one whose name begins with _ is none."""
    if not folder.is_dir():
        raise UserError(f"{FOLDERS_VARIABLE} names {folder}, which is not a folder.")
    return sorted(file for file in folder.glob("*.py") if not file.name.startswith("_"))

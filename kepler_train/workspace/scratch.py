"""Scratch folders: locked while in use, so that leftovers of killed processes can be told from folders in use."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "kepler-train-step-"
# A file, not the folder: network file systems lock only what is open for writing.
_LOCK, _WORK = "lock", "work"


@contextmanager
def scratch_folder(home: Path) -> Iterator[Path]:
    """Yield an empty folder below `home`, removed afterwards; remove leftovers of killed processes before."""
    _sweep(home)
    folder, lock = _locked_folder(home)
    try:
        yield folder / _WORK
    finally:
        _remove(folder)
        os.close(lock)


def _locked_folder(home: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
        with suppress(FileNotFoundError):  # swept before it was locked: make another
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / _LOCK).exists():
                (folder / _WORK).mkdir()
                return folder, lock
            os.close(lock)


def _sweep(home: Path) -> None:
    """Remove scratch folders that no living process holds."""
    for left in home.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process holds it, or removes it too
            if not any(left.iterdir()):
                left.rmdir()
                continue
            lock = os.open(left / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(left)
            finally:
                os.close(lock)


def _remove(folder: Path) -> None:
    # The lock goes last: without it the next sweep could not tell that nobody is at work here.
    shutil.rmtree(folder / _WORK, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)

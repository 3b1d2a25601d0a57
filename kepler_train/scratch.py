"""Scratch folders: locked while in use, so that those of killed processes can be told from those in use.

Whoever makes one first removes what killed processes of the same user left in the same place. The kernel lets go of a
lock when the process that holds it ends, in whatever way: a folder whose lock can be taken is nobody's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from kepler_train.errors import UserError

_PREFIX = "kepler-train-scratch-"
# A file, not the folder: network file systems lock only what is open for writing.
_LOCK, _WORK = "lock", "work"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ScratchFolder:
    """An empty folder in the temporary folder, or below `home`; it ends with `cleanup`, or as a context.

    A `hidden` one is for places that people look at.
    """

    def __init__(self, home: Path | None = None, *, hidden: bool = False) -> None:
        try:
            place = home or Path(tempfile.gettempdir())
            _sweep(place)
            self._folder, self._lock = _locked_folder(place, f".{_PREFIX}" if hidden else _PREFIX)
        except OSError as error:
            if home or error.errno in _FULL:
                raise
            raise UserError(f"There is no folder to work in ({error.strerror}): set TMPDIR to one.") from None
        self.path = self._folder / _WORK
        self.name = str(self.path)  # as that of tempfile.TemporaryDirectory

    def cleanup(self) -> None:
        """Remove the folder and all that is in it."""
        _remove(self._folder)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.cleanup()


def sweep_temporary_folder() -> None:
    """Remove what killed commands left in the temporary folder, also where this one needs no scratch folder."""
    with suppress(OSError):  # who needs the folder will say what is wrong with it
        _sweep(Path(tempfile.gettempdir()))


def unnamed_file() -> BinaryIO:
    """Open a file in the temporary folder; it has no name there, and so ends with its process."""
    return cast("BinaryIO", tempfile.TemporaryFile())


def _locked_folder(home: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=home))
        try:
            lock = _lock(folder)
        except OSError:
            _remove(folder)
            raise
        if lock is not None:
            return folder, lock


def _lock(folder: Path) -> int | None:
    """Lock a new folder and make a place to work in it; return None where another process has swept it before."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():
            (folder / _WORK).mkdir()
            return lock
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _sweep(home: Path) -> None:
    """Remove scratch folders of this user that no living process holds."""
    with os.scandir(home) as entries:
        names = [entry.name for entry in entries if entry.name.removeprefix(".").startswith(_PREFIX)]
    for name in names:
        with suppress(OSError):  # another process holds it, or removes it too
            _remove_abandoned(home / name)


def _remove_abandoned(folder: Path) -> None:
    """Remove a scratch folder if its lock can be taken; whatever is no scratch folder of this user stays."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)  # a link is another's doing
    try:
        names = set(os.listdir(place))  # noqa: PTH208 - of the folder that is open, whatever its name leads to now
        if os.fstat(place).st_uid != os.geteuid() or not names <= {_LOCK, _WORK}:
            return
        if not names:
            folder.rmdir()
            return
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW, dir_fd=place)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        finally:
            os.close(lock)
    finally:
        os.close(place)


def _remove(folder: Path) -> None:
    # The lock goes last: without it the next sweep could not tell that nobody is at work here.
    shutil.rmtree(folder / _WORK, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)

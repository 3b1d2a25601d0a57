"""Keys of files in a store as paths on this machine; others write to stores too."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.strict_json import MOST_BYTES

# A bucket may have an object `a` beside `a/b`, and names of 1,024 bytes; a folder has neither.
_NO_FILES = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
_LONGEST_NAME = 255  # bytes


def below(folder: Path, key: str) -> Path:
    """Return the path of a key below a folder; refuse a key that leads elsewhere."""
    parts = key.split("/")
    if "\0" in key or {"", ".", ".."} & set(parts) or max(len(os.fsencode(part)) for part in parts) > _LONGEST_NAME:
        raise _foreign(key)
    return folder / key


def check_small(where: object, size: int) -> None:
    """Refuse to hold a file in memory that is larger (bytes) than any that is read in one piece."""
    if size > MOST_BYTES:
        raise UserError(f"{where} has {size:,} bytes and was not made by kepler-train: remove it.")


def read_small(path: Path) -> bytes:
    """Return the content of a file that is held in memory; refuse a larger one, and what only looks like a file.

    A run's parameters may name a device or a pipe, of which there is no end, or no beginning.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{path} is a device or a pipe, not a file.")
        check_small(path, status.st_size)
        content = file.read(MOST_BYTES + 1)
    check_small(path, len(content))  # files of the kernel do not tell their size
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


@contextmanager
def usable_names(uri: str, key: str) -> Iterator[None]:
    """Refuse a key that cannot be the path of a file, by itself or beside others."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_FILES:
            raise
        raise _foreign(f"{uri}/{key}") from None


def _foreign(key: str) -> UserError:
    return UserError(f"{key!r} is no name of a file below a folder: it was not made by kepler-train, remove it.")

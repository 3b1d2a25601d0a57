"""Put a new folder in the place of an earlier one, so that at every moment one of the two is there."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


def put_in_place(new: Path, path: Path) -> None:
    """Give `new` the name `path`; an earlier folder of that name goes to where the new one was.

    Without the kernel's exchange of names (network file systems) the earlier folder is moved away first: who is killed
    between the two leaves it beside the place.
    """
    if not path.exists():
        new.rename(path)
    elif not _exchanged(new, path):
        aside = new.with_name(f"{new.name}-earlier")
        path.rename(aside)
        new.rename(path)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders swap their names in one step; return whether that was possible here."""
    renameat2 = getattr(_libc, "renameat2", None)
    if renameat2 is None:
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)

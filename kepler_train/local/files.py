"""Files of a stack: private ones, and locks that the kernel frees when their holder dies."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO, Any


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, in one step: readers see the old text or the new one."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.rename(path)


def open_private(path: Path, mode: str) -> IO[Any]:
    """Open a file as `open` does; where that makes it, only its owner can read it."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def lock_file(path: Path) -> IO[str] | None:
    """Return the open file that holds a lock for as long as it is open; None when another process has it."""
    file = open_private(path, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file

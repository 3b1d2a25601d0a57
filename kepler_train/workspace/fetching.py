"""Files of a store brought to this machine, compared with what is known of them."""

from __future__ import annotations

from pathlib import Path

from kepler_train.errors import TryAgain
from kepler_train.hashing import sha256_of
from kepler_train.workspace.manifest import FileRecord
from kepler_train.workspace.stores import FileStore

# A whole answer of S3 may be another than that of the object; who is to be told that a file was changed is told a lie.
_TRIES = 2


def fetch_recorded(store: FileStore, prefix: str, record: FileRecord, folder: Path) -> Path | None:
    """Download a file below `prefix`; return its path, or None for one that is not the recorded one.

    In a private store nobody can have changed it.
    """
    for _ in range(_TRIES):
        path = store.download(f"{prefix}/{record.path}", folder)
        if path.is_file() and (store.private or sha256_of(path) == record.sha256):
            return path
        path.unlink(missing_ok=True)
    return None


def fetch_listed(store: FileStore, key: str, size: int, folder: Path) -> Path:
    """Download a file that a listing has with this size (bytes), and return its path."""
    for _ in range(_TRIES):
        path = store.download(key, folder)
        if path.is_file() and path.stat().st_size == size:
            return path
        path.unlink(missing_ok=True)
    raise TryAgain(f"{store.uri}/{key} does not have the {size:,} bytes that it is listed with: it is being changed.")

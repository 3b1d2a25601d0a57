"""Stores of files: folders and S3 buckets. A key is a relative path with slashes."""

from __future__ import annotations

from pathlib import Path

from kepler_train.addresses import BadAddress, files_at
from kepler_train.errors import UserError
from kepler_train.workspace.folder import FolderStore
from kepler_train.workspace.s3 import S3Store

# Both have the same methods; every write appears whole or not at all. A `private` one is of one command, which removes
# it: nobody else can change its files, and none must outlive a power cut.
FileStore = FolderStore | S3Store


def open_store(uri: str) -> FileStore:
    """Return the store at an address: a folder's path or s3://bucket/prefix."""
    try:
        place = files_at(uri)
    except BadAddress as error:
        raise UserError(f"{error}.") from None
    if isinstance(place, tuple):
        return S3Store(*place)
    if not place:
        raise UserError(f"{uri!r} is neither a folder nor an s3:// address.")
    try:
        return FolderStore(Path(place).expanduser().absolute())
    except RuntimeError:  # ~somebody
        raise UserError(f"{uri!r} names the home of an account that is not there.") from None

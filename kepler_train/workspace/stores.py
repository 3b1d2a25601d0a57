"""Stores of files: folders and S3 buckets. A key is a relative path with slashes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from kepler_train.errors import UserError
from kepler_train.workspace.folder import FolderStore
from kepler_train.workspace.s3 import S3Store

# Both have the same methods; every write appears whole or not at all. A `private` one is of one command, which removes
# it: nobody else can change its files, and none must outlive a power cut.
FileStore = FolderStore | S3Store


def open_store(uri: str) -> FileStore:
    """Return the store at an address: a folder's path or s3://bucket/prefix."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise UserError(f"{uri!r} is neither a folder nor an s3:// address.") from None
    if parts.scheme == "s3":
        if not parts.netloc:
            raise UserError(f"{uri!r} names no bucket: write s3://bucket/prefix.")
        return S3Store(parts.netloc, parts.path.strip("/"))
    if parts.scheme not in ("", "file") or not uri:
        raise UserError(f"{uri!r} is neither a folder nor an s3:// address.")
    try:
        return FolderStore(Path(parts.path if parts.scheme == "file" else uri).expanduser().absolute())
    except RuntimeError:  # ~somebody
        raise UserError(f"{uri!r} names the home of an account that is not there.") from None

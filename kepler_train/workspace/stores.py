"""Where files live. A key is a relative path with slashes; every write appears whole or not at all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from kepler_train.errors import UserError


class Store(Protocol):
    """A folder or a bucket with a prefix."""

    uri: str

    def read(self, key: str) -> bytes | None:
        """The content of a small file, or None when it is not there."""

    def write(self, key: str, content: bytes) -> None:
        """Write a small file."""

    def upload(self, file: Path, key: str) -> None:
        """Write a file from this machine; it may be moved away from there."""

    def download(self, key: str, folder: Path) -> Path:
        """A path on this machine with the content of `key`: in place, or a copy in `folder`."""

    def sizes(self, prefix: str) -> dict[str, int]:
        """Every key below the folder `prefix` with its size (bytes)."""

    def delete(self, key: str) -> None:
        """Remove a file; it need not be there."""

    def scratch(self) -> AbstractContextManager[Path]:
        """An empty folder of this machine's, near the store, that disappears afterwards."""


def open_store(uri: str) -> Store:
    """The store that an address names: a folder's path or s3://bucket/prefix."""
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        from kepler_train.workspace.s3 import S3Store

        if not parts.netloc:
            raise UserError(f"{uri!r} names no bucket: write s3://bucket/prefix.")
        return S3Store(parts.netloc, parts.path.strip("/"))
    if parts.scheme not in ("", "file"):
        raise UserError(f"{uri!r} is neither a folder nor an s3:// address.")
    from kepler_train.workspace.folder import FolderStore

    return FolderStore(Path(parts.path if parts.scheme == "file" else uri).expanduser().absolute())

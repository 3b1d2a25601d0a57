"""Stores of files. A key is a relative path with slashes; every write appears whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from kepler_train.errors import UserError

if TYPE_CHECKING:
    from kepler_train.workspace.folder import FolderStore
    from kepler_train.workspace.s3 import S3Store


class Store(Protocol):
    """A folder or a bucket with a prefix."""

    uri: str

    def read(self, key: str) -> bytes | None:
        """Return the content of a small file, or None when it does not exist."""

    def write(self, key: str, content: bytes) -> None:
        """Write a small file."""

    def update(self, key: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Change a small file as if nobody else could at the same time; a change to None leaves it as it is."""

    def upload(self, file: Path, key: str) -> None:
        """Write a file from this machine; it may be moved away from there."""

    def download(self, key: str, folder: Path) -> Path:
        """Return `<folder>/<key>` with the content of `key`; there is no file when the key does not exist."""

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return every key below the folder `prefix` with its size (bytes)."""

    def delete(self, key: str) -> None:
        """Remove a file if it exists."""

    def scratch(self) -> AbstractContextManager[Path]:
        """Yield an empty folder of this machine, near the store, removed afterwards."""


def open_store(uri: str) -> FolderStore | S3Store:
    """Return the store at an address: a folder's path or s3://bucket/prefix."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise UserError(f"{uri!r} is neither a folder nor an s3:// address.") from None
    if parts.scheme == "s3":
        from kepler_train.workspace.s3 import S3Store

        if not parts.netloc:
            raise UserError(f"{uri!r} names no bucket: write s3://bucket/prefix.")
        return S3Store(parts.netloc, parts.path.strip("/"))
    if parts.scheme not in ("", "file") or not uri:
        raise UserError(f"{uri!r} is neither a folder nor an s3:// address.")
    from kepler_train.workspace.folder import FolderStore

    try:
        return FolderStore(Path(parts.path if parts.scheme == "file" else uri).expanduser().absolute())
    except RuntimeError:  # ~somebody
        raise UserError(f"{uri!r} names the home of an account that is not there.") from None

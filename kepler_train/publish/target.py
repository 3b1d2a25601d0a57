"""Targets of publishing. A version appears whole; `latest` moves to it in one step and never back in time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from kepler_train.publish.version import window_end_of
from kepler_train.workspace import FileStore, open_store
from kepler_train.workspace.folder import FolderStore

Choose = Callable[[str], str | None]
"""What `latest` is to be, given what it is (empty before the first version); None leaves it as it is."""


class Target(Protocol):
    """A place for models: `<pipeline>/<version>/…`."""

    uri: str

    @property
    def store(self) -> FileStore:
        """Return where its files are."""

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Put a version there, whole, and return its address; the same version may be there already."""

    def latest(self, pipeline: str) -> str:
        """Return the version that readers follow; empty where nothing was published."""

    def move_latest(self, pipeline: str, choose: Choose, pinned: bool = False) -> str:
        """Let `latest` be what `choose` says, and return what it is.

        Nobody moves it between the last call of `choose` and the move: it is asked again when somebody did. A pin and
        its end are moves too, though to the same version.
        """

    def remove(self, pipeline: str, version: str) -> None:
        """Remove the files of a version."""

    def tidy(self, pipeline: str) -> None:
        """Remove what publishers of a pipeline that were killed long ago have left."""


def unless_older(version: str) -> Choose:
    """Return the choice of a version unless `latest` is of a newer window."""
    return lambda current: None if window_end_of(current) > window_end_of(version) else version


def open_target(uri: str) -> Target:
    """Return the target that an address names: a folder's path or s3://bucket/prefix."""
    return target_in(open_store(uri))


def target_in(store: FileStore) -> Target:
    """Return the target in a store."""
    if isinstance(store, FolderStore):
        from kepler_train.publish.folder import FolderTarget

        return FolderTarget(store)
    from kepler_train.publish.bucket import BucketTarget

    return BucketTarget(store)

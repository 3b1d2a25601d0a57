"""Targets of publishing. A version appears whole; `latest` moves to it in one step and never back in time."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kepler_train.workspace import open_store
from kepler_train.workspace.folder import FolderStore


class Target(Protocol):
    """A place for models: `<pipeline>/<version>/…`."""

    uri: str

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Put a version there, whole, and return its address; the same version may be there already."""

    def latest(self, pipeline: str) -> str:
        """Return the version that readers follow; empty where nothing was published."""

    def point_latest(self, pipeline: str, version: str) -> str:
        """Let `latest` be this version unless it is of a newer window already; return what it is."""


def open_target(uri: str) -> Target:
    """Return the target that an address names: a folder's path or s3://bucket/prefix."""
    store = open_store(uri)
    if isinstance(store, FolderStore):
        from kepler_train.publish.folder import FolderTarget

        return FolderTarget(store)
    from kepler_train.publish.bucket import BucketTarget

    return BucketTarget(store)

"""Kinds of stores, each with fresh addresses, and with operations that can be counted."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from killing import Arm, count_file_operations, count_requests

from kepler_train.workspace import FileStore, Manifest, open_store
from kepler_train.workspace.s3 import S3Store

Do = Callable[..., Manifest]


@dataclass
class Place:
    """A kind of store; `new` makes fresh addresses, `scratch_home` is where its steps work."""

    kind: str
    folder: Path

    def new(self) -> str:
        name = uuid.uuid4().hex
        return f"s3://lab/{name}" if self.kind == "s3" else str(self.folder / name)

    def store(self, uri: str) -> FileStore:
        return open_store(uri)

    def counted(self, uri: str, count: Arm) -> FileStore:
        store = open_store(uri)
        if isinstance(store, S3Store):
            count_requests(store._client, count)
        else:
            count_file_operations(store.root, count)
        return store

    def scratch_left(self, uri: str) -> list[str]:
        home = self.folder / "tmp" if self.kind == "s3" else Path(uri) / ".scratch"
        return [path.name for path in home.iterdir()]

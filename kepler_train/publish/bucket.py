"""Publishing to a bucket: files first, then `latest.json`, the one object that readers follow."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from kepler_train.workspace import Store

LATEST = "latest.json"


class BucketTarget:
    """`<prefix>/<pipeline>/<version>/…` and `<prefix>/<pipeline>/latest.json`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.uri = store.uri

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Upload every file; readers look only at versions that `latest.json` has named."""
        with self._store.scratch() as scratch:
            copy = scratch / version  # an upload may move files away, and the step's inputs are not ours
            shutil.copytree(exported, copy)
            for file in sorted(path for path in copy.rglob("*") if path.is_file()):
                self._store.upload(file, f"{pipeline}/{version}/{file.relative_to(copy).as_posix()}")
        return f"{self.uri}/{pipeline}/{version}"

    def point_latest(self, pipeline: str, version: str) -> str:
        """Write the pointer in one request."""
        key = f"{pipeline}/{LATEST}"
        before = self._store.read(key)
        current: str = json.loads(before)["version"] if before else ""
        if current > version:
            return current
        self._store.write(key, json.dumps({"version": version}).encode())
        return version

"""Publishing to a bucket: files first, then `latest.json`, the one object that readers follow."""

from __future__ import annotations

import json
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.publish.version import window_end_of
from kepler_train.workspace.s3 import S3Store

LATEST = "latest.json"


class BucketTarget:
    """`<prefix>/<pipeline>/<version>/…` and `<prefix>/<pipeline>/latest.json`."""

    def __init__(self, store: S3Store) -> None:
        self._store = store
        self.uri = store.uri

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Upload every file that is not there; readers look only at versions that `latest.json` has named."""
        place = f"{pipeline}/{version}"
        sizes = self._store.sizes(place)
        for file in sorted(path for path in exported.rglob("*") if path.is_file()):
            key = f"{place}/{file.relative_to(exported).as_posix()}"
            if sizes.get(key) != file.stat().st_size:  # the version is a digest of all contents
                self._store.upload(file, key)
        return f"{self.uri}/{place}"

    def latest(self, pipeline: str) -> str:
        """Return the version that the pointer names."""
        return self._version_in(self._store.read(f"{pipeline}/{LATEST}"), pipeline)

    def point_latest(self, pipeline: str, version: str) -> str:
        """Write the pointer in one request."""
        latest = version

        def pointer(before: bytes | None) -> bytes | None:
            nonlocal latest
            current = self._version_in(before, pipeline)
            if current == version or window_end_of(current) > window_end_of(version):
                latest = current
                return None
            latest = version
            return json.dumps({"version": version}).encode()

        self._store.update(f"{pipeline}/{LATEST}", pointer)
        return latest

    def _version_in(self, pointer: bytes | None, pipeline: str) -> str:
        try:
            return str(json.loads(pointer)["version"]) if pointer else ""
        except (ValueError, TypeError, KeyError):
            where = f"{self.uri}/{pipeline}/{LATEST}"
            raise UserError(f"{where} does not name a version: remove it and publish again.") from None

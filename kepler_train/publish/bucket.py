"""Publishing to a bucket: files first, then `latest.json`, the one object that readers follow."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.publish.existing import missing_files
from kepler_train.publish.sums import SUMS
from kepler_train.publish.target import Choose
from kepler_train.publish.version import is_version
from kepler_train.workspace.s3 import S3Store
from kepler_train.workspace.s3_client import AT_ONCE

LATEST = "latest.json"


class BucketTarget:
    """`<prefix>/<pipeline>/<version>/…` and `<prefix>/<pipeline>/latest.json`."""

    def __init__(self, store: S3Store) -> None:
        self.store = store
        self.uri = store.uri

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Upload every file that is not there; readers look only at versions that `latest.json` has named.

        What a killed publisher has uploaded is whole, since S3 shows no part of an object, and is not sent again.
        """
        place = f"{pipeline}/{version}"
        missing = missing_files(exported, self.store, place)
        last = [file for file in missing if file == exported / SUMS]  # it tells that all others are there

        def send(file: Path) -> None:
            self.store.upload(file, f"{place}/{file.relative_to(exported).as_posix()}")

        with ThreadPoolExecutor(AT_ONCE) as pool:
            # The largest first, so that none of them is waited for at the end.
            order = sorted(set(missing) - set(last), key=lambda file: file.stat().st_size, reverse=True)
            try:
                list(pool.map(send, order))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        for file in last:
            send(file)
        return f"{self.uri}/{place}"

    def latest(self, pipeline: str) -> str:
        """Return the version that the pointer names."""
        return self._version_in(self.store.read(f"{pipeline}/{LATEST}"), pipeline)

    def move_latest(self, pipeline: str, choose: Choose, pinned: bool = False) -> str:
        """Write the pointer in one request, on the condition that it is still the one that was read."""
        latest = ""
        pin = {"pinned": True} if pinned else {}  # changes the object, so that nobody who read it before can move it

        def pointer(before: bytes | None) -> bytes | None:
            nonlocal latest
            current = self._version_in(before, pipeline)
            chosen = choose(current)
            latest = current if chosen is None else chosen
            content = json.dumps({"version": latest} | pin).encode()
            return None if chosen is None or content == before else content

        self.store.update(f"{pipeline}/{LATEST}", pointer)
        return latest

    def remove(self, pipeline: str, version: str) -> None:
        """Delete every object of a version."""
        self.store.delete_all(self.store.sizes(f"{pipeline}/{version}"))

    def tidy(self, pipeline: str) -> None:
        """Remove the parts of uploads that were killed long ago: no listing shows them, and they cost."""
        self.store.end_abandoned_uploads(pipeline)

    def _version_in(self, pointer: bytes | None, pipeline: str) -> str:
        if not pointer:
            return ""
        try:
            version = str(strict_json.parse(pointer)["version"])
        except (ValueError, TypeError, KeyError):
            version = ""
        if not is_version(version):  # others write to the bucket, and it becomes a part of paths
            where = f"{self.uri}/{pipeline}/{LATEST}"
            raise UserError(f"{where} does not name a version: remove it and publish again.")
        return version

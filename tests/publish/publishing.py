"""Targets on a folder and on a real S3 server, and the eyes of a reader."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path

from killing import Arm, count_file_operations, count_requests

from kepler_train.publish.bucket import BucketTarget
from kepler_train.publish.folder import FolderTarget
from kepler_train.publish.target import Target, open_target, unless_older
from kepler_train.workspace import open_store

# Versions of three nights; the files of each say which it is.
FIRST, SECOND, THIRD = (f"2026111{night}T020000Z-0000000{night}" for night in (1, 2, 3))
FILES = ["metadata.json", "rapl-sysfs/AbsPower/BPFOnly/model.zip", "report.html"]


def export(folder: Path, version: str) -> Path:
    """What the export step leaves for a version, written once."""
    if (folder / version).is_dir():
        return folder / version
    for name in FILES:
        (folder / version / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / version / name).write_text(f"{version} {name}")
    return folder / version


@dataclass
class Publishing:
    """A kind of target; every new address is empty."""

    kind: str
    folder: Path

    def new(self) -> str:
        name = uuid.uuid4().hex
        return f"s3://lab/{name}" if self.kind == "s3" else str(self.folder / name)

    def publish(self, uri: str, version: str, count: Arm | None = None) -> str:
        source = export(self.folder / "exports", version)
        target: Target = open_target(uri)
        if count and isinstance(target, BucketTarget):
            count_requests(target.store._client, count)
        elif count and isinstance(target, FolderTarget):
            count_file_operations(target.store.root, count)
        target.add(source, "lab", version)
        return target.move_latest("lab", unless_older(version))

    def latest(self, uri: str) -> str:
        """The version that a reader finds, whole; nothing before the first was published."""
        store = open_store(uri)
        if self.kind == "s3":
            pointer = store.read("lab/latest.json")
            if pointer is None:
                return ""
            version = json.loads(pointer)["version"]
            said = {name: store.read(f"lab/{version}/{name}") for name in FILES}
        else:
            link = Path(uri) / "lab" / "latest"
            if not link.is_symlink():
                return ""
            version = link.readlink().name
            said = {name: store.read(f"lab/latest/{name}") for name in FILES}
        assert said == {name: f"{version} {name}".encode() for name in FILES}
        return str(version)

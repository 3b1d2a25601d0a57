"""Publishing to a folder: a version is renamed into place, `latest` is a link."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.workspace.folder import FolderStore

LATEST = "latest"


class FolderTarget:
    """`<root>/<pipeline>/<version>/` and the link `<root>/<pipeline>/latest`."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store
        self.uri = store.uri

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Copy beside the place, then rename the whole folder into it."""
        place = self._store.root / pipeline / version
        if place.is_dir():
            return str(place)
        with self._store.scratch() as scratch:
            copy = scratch / version
            shutil.copytree(exported, copy)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                os.rename(copy, place)  # noqa: PTH104
            except OSError as error:
                if not place.is_dir():  # another run published the very same version meanwhile
                    raise UserError(f"The folder {place.parent} cannot be written: {error.strerror}.") from None
        return str(place)

    def point_latest(self, pipeline: str, version: str) -> str:
        """Replace the link in one step."""
        link = self._store.root / pipeline / LATEST
        if link.is_symlink() and os.readlink(link) > version:  # noqa: PTH115
            return os.readlink(link)  # noqa: PTH115
        fresh = link.with_name(f".{LATEST}-{os.getpid()}")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(version)
        fresh.replace(link)
        return version

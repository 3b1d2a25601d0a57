"""Publishing to a folder: a version is renamed into place, `latest` is a link."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.publish.existing import missing_files, refuse_missing
from kepler_train.publish.readers import let_readers_in
from kepler_train.publish.sums import SIGNATURE
from kepler_train.publish.target import Choose
from kepler_train.spec import NAME_PATTERN
from kepler_train.workspace.folder import FolderStore
from kepler_train.workspace.keys import below

LATEST = "latest"


class FolderTarget:
    """`<root>/<pipeline>/<version>/` and the link `<root>/<pipeline>/latest`."""

    def __init__(self, store: FolderStore) -> None:
        self.store = store
        self.uri = store.uri

    def add(self, exported: Path, pipeline: str, version: str) -> str:
        """Copy beside the place, then rename the whole folder into it."""
        place = self.store.root / pipeline / version
        if place.is_dir():
            self._check(exported, f"{pipeline}/{version}")
            return str(place)
        with self.store.scratch() as scratch, _writing(place.parent):
            copy = scratch / version
            shutil.copytree(exported, copy)
            place.parent.mkdir(parents=True, exist_ok=True)
            let_readers_in(self.store.root, (place.parent, copy, *copy.rglob("*")))
            try:
                copy.rename(place)
            except OSError:
                if not place.is_dir():  # else another run published the very same version meanwhile
                    raise
                self._check(exported, f"{pipeline}/{version}")
        return str(place)

    def _check(self, exported: Path, place: str) -> None:
        """Refuse a version that is there already and is another; sign one that is not signed yet."""
        missing = missing_files(exported, self.store, place)
        signature = exported / SIGNATURE
        if signature in missing:
            missing.remove(signature)
            self.store.write(f"{place}/{SIGNATURE}", signature.read_bytes())
            let_readers_in(self.store.root, [self.store.root / place / SIGNATURE])
        refuse_missing(missing, exported, self.store, place)

    def latest(self, pipeline: str) -> str:
        """Return the version that the link names."""
        return self._version_of(self.store.root / pipeline / LATEST)

    def move_latest(self, pipeline: str, choose: Choose, pinned: bool = False) -> str:  # noqa: ARG002 - the lock holds
        """Replace the link in one step, one at a time."""
        home = self.store.root / pipeline
        link, fresh = home / LATEST, home / f".{LATEST}"
        with _writing(home), (home / f".{LATEST}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            current = self._version_of(link)
            chosen = choose(current)
            if chosen is None or chosen == current:
                return current
            fresh.unlink(missing_ok=True)  # left by a publisher that was killed here
            fresh.symlink_to(chosen)
            fresh.replace(link)
        return chosen

    def remove(self, pipeline: str, version: str) -> None:
        """Take the folder away in one step, then delete what is in it."""
        place = below(self.store.root, f"{pipeline}/{version}")
        with self.store.scratch() as scratch, _writing(place.parent), suppress(FileNotFoundError):
            place.rename(scratch / version)

    def tidy(self, pipeline: str) -> None:
        """Leave a folder as it is: the next scratch folder takes those of killed publishers away."""

    def _version_of(self, link: Path) -> str:
        """Return the version that a link names; empty without a link."""
        if not link.is_symlink():
            return ""
        version = link.readlink().name
        if not re.fullmatch(NAME_PATTERN, version):  # it becomes a part of paths
            raise UserError(f"{link} does not name a version: remove it and publish again.")
        return version


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be written: {error.strerror or error}.") from None

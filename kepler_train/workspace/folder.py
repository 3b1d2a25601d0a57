"""A store in a folder of this machine, or of a volume that all pods mount."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.hashing import sha256_of
from kepler_train.scratch import ScratchFolder
from kepler_train.workspace.keys import below, read_small

_SCRATCH = ".scratch"


class FolderStore:
    """Files below `root`; written in a scratch folder, then renamed into their place."""

    def __init__(self, root: Path, private: bool = False) -> None:
        self.root = root
        self.uri = str(root)
        self.private = private

    def read(self, key: str, recheck: bool = True) -> bytes | None:  # noqa: ARG002 - folders are believed at once
        """Return the content of a small file, or None when it does not exist."""
        try:
            return read_small(self.root / key)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UserError(f"{self.root / key} cannot be read: {error.strerror}.") from None

    def write(self, key: str, content: bytes) -> None:
        """Write a small file."""
        if self.private:  # nobody can see half of it
            with self._writing(self.root):
                (self.root / key).parent.mkdir(parents=True, exist_ok=True)
                (self.root / key).write_bytes(content)
            return
        with self.scratch() as scratch:
            with self._writing(self.root):
                (scratch / "content").write_bytes(content)
            self.upload(scratch / "content", key)

    def update(self, key: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Change a small file as if nobody else could at the same time; a change to None leaves it as it is."""
        path = self.root / key
        with self._writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.with_name(f".{path.name}.lock").open("w")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            content = change(self.read(key))
            if content is not None:
                self.write(key, content)

    def upload(self, file: Path, key: str) -> None:
        """Move a file of the scratch folder to its place."""
        path = self.root / key
        with self._writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.private:
                with file.open("rb") as content:
                    os.fsync(content.fileno())
            try:
                file.replace(path)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                # The place is on another file system than the scratch folder: copy beside it, then rename.
                beside = path.with_name(f".writing-{uuid.uuid4().hex}")
                shutil.copyfile(file, beside)
                beside.replace(path)

    def download(self, key: str, folder: Path) -> Path:
        """Link the file into `folder` and return `<folder>/<key>`: its content stays when the key is written anew."""
        source, target = below(self.root, key), below(folder, key)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                target.hardlink_to(source)
            except OSError:  # another file system, one without links, or a file of another user
                target.symlink_to(source)
        return target

    def sha256(self, key: str) -> str | None:
        """Return the SHA-256 of what a file holds now, or None when it does not exist."""
        path = self.root / key
        try:
            return sha256_of(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.") from None

    def sizes(self, prefix: str, recheck: bool = True) -> dict[str, int]:  # noqa: ARG002 - as in `read`
        """Return every key below the folder `prefix` with its size (bytes)."""
        sizes: dict[str, int] = {}
        for folder, _, names in os.walk(self.root / prefix):
            for name in names:
                path = Path(folder, name)
                with suppress(OSError):  # removed by another process while we look, or a link to itself
                    sizes[path.relative_to(self.root).as_posix()] = path.stat().st_size
        return sizes

    def etags(self, prefix: str) -> dict[str, str]:
        """Return every key below a folder; files have no ETag."""
        return dict.fromkeys(self.sizes(prefix), "")

    def holds(self, key: str, file: Path, etag: str) -> bool:  # noqa: ARG002 - buckets have one
        """Return whether a file of the store has the content of another."""
        return self.sha256(key) == sha256_of(file)

    def folders(self, prefix: str = "") -> list[str]:
        """Return the names of the folders directly below a folder; links are none."""
        place = self.root / prefix
        try:
            return sorted(entry.name for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UserError(f"{place} cannot be read: {error.strerror}.") from None

    def delete(self, key: str) -> None:
        """Remove a file if it exists."""
        path = self.root / key
        with self._writing(path.parent):
            path.unlink(missing_ok=True)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a folder on the same file system, removed afterwards."""
        home = self.root / _SCRATCH
        with ExitStack() as stack:
            with self._writing(self.root):
                home.mkdir(parents=True, exist_ok=True)
                work = stack.enter_context(ScratchFolder(home))
            yield work

    @contextmanager
    def _writing(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UserError(
                f"The folder {folder} cannot be written: {reason}. Choose another, or change its owner."
            ) from None

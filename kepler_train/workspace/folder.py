"""A store in a folder of this machine, or of a volume that all pods mount."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kepler_train.errors import UserError

_SCRATCH = ".scratch"


class FolderStore:
    """Files below `root`; written beside their place, then renamed into it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.uri = str(root)

    def read(self, key: str) -> bytes | None:
        """The content of a small file, or None when it is not there."""
        try:
            return (self.root / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UserError(f"{self.root / key} cannot be read: {error.strerror}.") from None

    def write(self, key: str, content: bytes) -> None:
        """Write a small file."""
        with self._place(key) as path:
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)  # noqa: PTH101  # mkstemp's 0600 would hide results from other users
            os.replace(name, path)  # noqa: PTH105

    def upload(self, file: Path, key: str) -> None:
        """Move a file of the scratch folder to its place."""
        with self._place(key) as path:
            with file.open("rb") as content:
                os.fsync(content.fileno())
            try:
                file.replace(path)
            except OSError:  # from another file system: copy beside the place, then rename
                beside = path.with_name(f".writing-{path.name}")
                shutil.copyfile(file, beside)
                beside.replace(path)

    def download(self, key: str, folder: Path) -> Path:  # noqa: ARG002  # the file is read in place
        """The file itself."""
        return self.root / key

    def sizes(self, prefix: str) -> dict[str, int]:
        """Every key below the folder `prefix` with its size (bytes)."""
        found: dict[str, int] = {}
        for folder, _, names in os.walk(self.root / prefix):
            for name in names:
                path = Path(folder, name)
                with suppress(FileNotFoundError):  # removed by another process while we look
                    found[path.relative_to(self.root).as_posix()] = path.stat().st_size
        return found

    def delete(self, key: str) -> None:
        """Remove a file; it need not be there."""
        (self.root / key).unlink(missing_ok=True)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the same file system, locked while in use; what killed steps left is swept."""
        with self._place(f"{_SCRATCH}/x") as path:
            home = path.parent
            _sweep(home)
            folder = Path(tempfile.mkdtemp(dir=home))
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            (folder / "work").mkdir()
            yield folder / "work"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    @contextmanager
    def _place(self, key: str) -> Iterator[Path]:
        path = self.root / key
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield path
        except OSError as error:
            raise UserError(
                f"The folder {path.parent} cannot be written: {error.strerror}. Choose another, or change its owner."
            ) from None


def _sweep(home: Path) -> None:
    """Remove scratch folders that no living process holds."""
    for left in home.iterdir():
        with suppress(OSError):  # another process removes it, or holds it
            handle = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if any(left.iterdir()):  # an empty one was made just now and is about to be locked
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)

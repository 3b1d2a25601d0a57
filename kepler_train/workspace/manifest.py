"""The manifest that makes a step's files a result: files without one are none."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.hashing import sha256_of

# Figures worth showing: rows, series, gaps, errors. Plain JSON values, by name.
Figures = dict[str, Any]

MANIFEST = "manifest.json"


class FileRecord(BaseModel):
    """A file by its path within the step's folder, with size and check sum."""

    model_config = ConfigDict(frozen=True)

    path: str
    size: int
    sha256: str


class InputRecord(FileRecord):
    """A file that a step read, with the step it came from."""

    step: str
    part: str = ""


class Manifest(BaseModel):
    """What a step read and wrote, by which spec and version, when, and what it found."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    step: str
    part: str = ""
    status: Literal["done"] = "done"
    request: str = ""
    """The request by which it was done: retries of a task share one, and a cleared task has a new one."""
    spec_digest: str
    version: str
    started: datetime
    ended: datetime
    inputs: list[InputRecord] = []
    outputs: list[FileRecord] = []
    figures: Figures = {}

    @classmethod
    def read(cls, content: bytes, where: str) -> Manifest:
        """Return the manifest in a file, or refuse the file in one sentence."""
        try:
            return cls.model_validate(strict_json.parse(content))
        except ValueError:  # also of pydantic
            raise UserError(f"{where} is not a manifest of this version: remove it and run the step again.") from None


def record_of(path: Path, base: Path, *, hashed: bool) -> FileRecord:
    """Return the record of a file below `base`; the check sum is empty where nobody will compare it."""
    sha256 = sha256_of(path) if hashed else ""
    return FileRecord(path=path.relative_to(base).as_posix(), size=path.stat().st_size, sha256=sha256)

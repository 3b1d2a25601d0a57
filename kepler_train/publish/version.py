"""Versions: the end of the window a model was trained on, and what the models are."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from pathlib import Path

# 128 bits: nobody can make other files with the same name on purpose. Versions before 0.2 have 8 digits.
_DIGITS = 32


def version_of(folder: Path, end: datetime) -> str:
    """Return `<window's end>-<digest of all files>`: the same for the same models, sorted by the window."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return f"{end:%Y%m%dT%H%M%SZ}-{digest.hexdigest()[:_DIGITS]}"


def window_end_of(version: str) -> str:
    """Return the part of a version that sorts by time; empty for a name that is no version."""
    stamp, _, digest = version.partition("-")
    return stamp if re.fullmatch(r"\d{8}T\d{6}Z", stamp) and digest else ""

"""Versions: the end of the window a model was trained on, and what the models are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.publish.sums import BESIDE, digest_of, sums_of
from kepler_train.spec import NAME_PATTERN

# 128 bits: nobody can make other files with the same name on purpose. Versions before 0.2 have 8 digits.
_DIGITS = 32
_PIECE = 1 << 20  # bytes read at a time
_NO_VERSIONS = {"latest"}


def version_of(folder: Path, end: datetime) -> str:
    """Return `<window's end>-<digest of all files>`: the same for the same models, sorted by the window."""
    return version_name(sums_of(folder), end)


def version_name(sums: Mapping[str, str], end: datetime) -> str:
    """Return the version whose files have these check sums."""
    return f"{end:%Y%m%dT%H%M%SZ}-{digest_of(sums)[:_DIGITS]}"


def is_named_for(version: str, sums: Mapping[str, str]) -> bool:
    """Tell whether a version's name vouches for files with these check sums."""
    digest = version.partition("-")[2]
    return bool(digest) and digest_of(sums).startswith(digest)


def is_named_for_contents(version: str, folder: Path) -> bool:
    """Tell whether a version is named for the files of a folder in the way of versions without a list of check sums."""
    whole = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        if name in BESIDE:
            continue
        whole.update(f"{name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            while piece := content.read(_PIECE):
                whole.update(piece)
    digest = version.partition("-")[2]
    return bool(digest) and whole.hexdigest().startswith(digest)


def window_end_of(version: str) -> str:
    """Return the part of a version that sorts by time; empty for a name that is no version."""
    stamp, _, digest = version.partition("-")
    return stamp if re.fullmatch(r"\d{8}T\d{6}Z", stamp) and digest else ""


def is_version(name: str) -> bool:
    """Tell whether a text can name a version: it becomes a part of paths."""
    return bool(re.fullmatch(NAME_PATTERN, name)) and name not in _NO_VERSIONS


def check_pipeline(name: str) -> str:
    """Return the name of a pipeline; refuse one that leads out of its folder."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UserError(f"{name!r} is not the name of a pipeline: it has letters, digits and ._- only.")
    return name

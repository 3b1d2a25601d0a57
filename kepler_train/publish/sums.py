"""SHA256SUMS of a version: what each of its files holds. The name of a version is made of it, so it vouches for all.

The form is that of `sha256sum -c`, so that who has no kepler-train can check a version too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.hashing import sha256_of

SUMS = "SHA256SUMS"  # as in the folder of a model, whose package takes half a second to import
SIGNATURE = "model.sig"
BESIDE = (SUMS, SIGNATURE)
"""Files of a version that are no part of what it vouches for: the list itself, and the signature."""
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_MOST_BYTES = 64 * 2**20


def sums_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder, by its path there."""
    files = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return {name: sha256_of(path) for name, path in files if name not in BESIDE}


def digest_of(sums: Mapping[str, str]) -> str:
    """Return the digest that names a version with these files."""
    return hashlib.sha256(format_sums(sums)).hexdigest()


def format_sums(sums: Mapping[str, str]) -> bytes:
    """Return the content of the file."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode("utf-8", "surrogateescape")


def parse_sums(content: bytes, where: str) -> dict[str, str]:
    """Return what a file says of each path; refuse a file of another form in one sentence."""
    lines = content.decode("utf-8", "surrogateescape").split("\n") if len(content) <= _MOST_BYTES else [""]
    matches = [_LINE.fullmatch(line) for line in lines[:-1]]
    sums = {match[2]: match[1] for match in matches if match}
    if lines[-1] or len(sums) < len(matches) or not sums:
        raise UserError(f"{where} is not a list of check sums, each with the path of a file.")
    return sums

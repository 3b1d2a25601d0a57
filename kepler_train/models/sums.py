"""SHA256SUMS: what every file of a folder must hold, in the form that `sha256sum -c` reads."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.hashing import sha256_of
from kepler_train.models.archive import MOST_BYTES, MOST_FILES
from kepler_train.models.files import read_bytes
from kepler_train.strict_json import name_problem

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\\x00]+)")


def write_sums(folder: Path, changed: Collection[str] | None = None) -> None:
    """Vouch for every file of a folder as it is now; those that did not change keep the sum that they have."""
    known = {} if changed is None else {name: digest for name, digest in _sums(folder).items() if name not in changed}
    names = sorted(file.name for file in folder.iterdir() if file.name != SUMS)
    lines = [f"{known.get(name) or sha256_of(folder / name)}  {name}\n" for name in names]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def check_sums(folder: Path) -> set[str]:
    """Return the names of the files that are vouched for; refuse one that was changed since."""
    sums = _sums(folder)
    files = [folder / name for name in sums]
    if sum(file.stat().st_size for file in files if file.is_file()) > MOST_BYTES:
        raise UserError(f"{folder} holds more than {MOST_BYTES >> 20} MB, which is no model.")
    for name, expected in sums.items():
        file = folder / name
        if file.is_symlink() or not file.is_file() or sha256_of(file) != expected:
            raise UserError(f"{file} is not the file that was saved with this model: it was changed or is missing.")
    return set(sums)


def _sums(folder: Path) -> dict[str, str]:
    """Return the sum of every file, by name."""
    try:
        lines = read_bytes(folder / SUMS).decode().splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{folder} is not the folder of a model: {SUMS} is unreadable.") from None
    if len(lines) > MOST_FILES:
        raise UserError(f"{folder} holds {len(lines)} files, which is no model: at most {MOST_FILES} are read.")
    matches = [_LINE.fullmatch(line) for line in lines]
    sums = {match[2]: match[1] for match in matches if match and name_problem(match[2]) is None}
    if len(sums) < len(lines):
        raise UserError(f"{folder / SUMS} is not a list of check sums, each with the name of a file beside it.")
    return sums

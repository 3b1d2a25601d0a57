"""Keys of files in a store as paths on this machine."""

from __future__ import annotations

from pathlib import Path

from kepler_train.errors import UserError


def below(folder: Path, key: str) -> Path:
    """Return the path of a key below a folder; refuse a key that leads elsewhere, as others write to stores too."""
    if "\0" in key or {"", ".", ".."} & set(key.split("/")):
        raise UserError(f"{key!r} is no name of a file below a folder: it was not made by kepler-train, remove it.")
    return folder / key

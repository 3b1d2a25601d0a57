"""Reads the catalog: our own file, then the user's on top of it."""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kepler_train.catalog.model import Catalog
from kepler_train.errors import UserError

CATALOG_VARIABLE = "KEPLER_TRAIN_CATALOG"
_OWN = Path(__file__).with_name("catalog.toml")


@cache
def catalog() -> Catalog:
    """Return the catalog of this process, with the file that KEPLER_TRAIN_CATALOG names, if any."""
    extension = os.environ.get(CATALOG_VARIABLE)
    return read_catalog(Path(extension) if extension else None)


def read_catalog(extension: Path | None = None) -> Catalog:
    """Return our catalog with the entries of a user's file; an entry of the same name replaces ours."""
    data = tomllib.loads(_OWN.read_text(encoding="utf-8"))
    if extension is None:
        return Catalog.model_validate(data)
    for section, entries in _read_extension(extension).items():
        if not isinstance(entries, dict):
            raise UserError(f"{extension}: {section} must be a table of entries, as in [{section}.Name].")
        if section == "trainers":  # of a trainer users change the settings, not where it is
            ours = data[section]
            entries = {n: ours.get(n, {}) | entry if isinstance(entry, dict) else entry for n, entry in entries.items()}
        data.setdefault(section, {}).update(entries)
    try:
        return Catalog.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "catalog"
        raise UserError(f"{extension}: {where}: {first['msg'].removeprefix('Value error, ')}.") from None


def _read_extension(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The catalog {path} ({CATALOG_VARIABLE}) cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"The catalog {path} ({CATALOG_VARIABLE}) is not TOML: {error}.") from None

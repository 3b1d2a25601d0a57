"""Reads the catalog: our own file, then the user's on top of it."""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kepler_train.catalog.model import Catalog
from kepler_train.errors import UserError, unknown_name

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
        if section == "trainers":
            entries = {name: _trainer(name, entry, data[section], extension) for name, entry in entries.items()}
        data.setdefault(section, {}).update(entries)
    try:
        return Catalog.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "catalog"
        raise UserError(f"{extension}: {where}: {first['msg'].removeprefix('Value error, ')}.") from None


def _trainer(name: str, entry: Any, ours: dict[str, Any], extension: Path) -> Any:
    """Return a trainer with the settings of a user, who cannot change where it is, nor add one here."""
    if name not in ours:
        raise UserError(
            f"{extension}: {unknown_name('trainer', name, ours)} Own trainers are files in a folder that"
            " KEPLER_TRAIN_TRAINERS names."
        )
    return ours[name] | entry | {"module": ours[name]["module"]} if isinstance(entry, dict) else entry


def _read_extension(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The catalog {path} ({CATALOG_VARIABLE}) cannot be read: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"The catalog {path} ({CATALOG_VARIABLE}) is not TOML: {error}.") from None

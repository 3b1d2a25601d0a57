"""JSON files that one step writes and another reads, each a pydantic model."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kepler_train import strict_json
from kepler_train.errors import UserError

FIRST_VERSION = 1  # of files that name no version of their format


class Record(BaseModel):
    """An object in such a file; entries that a later version has added are ignored."""

    model_config = ConfigDict(frozen=True)

    def content(self) -> dict[str, Any]:
        """Return the entries as they are written: those that were given, in the order of their declaration."""
        return self.model_dump(exclude_unset=True)


R = TypeVar("R", bound=BaseModel)


def read_record(kind: type[R], text: bytes | str, where: str, version: int = FIRST_VERSION) -> R:
    """Return what a file holds; refuse a later version of its format, or something else, in one sentence."""
    data = strict_json.read(text, where)
    written = data.get("schema_version", FIRST_VERSION) if isinstance(data, dict) else FIRST_VERSION
    if isinstance(written, int) and written > version:
        raise later_version(where, written, version)
    return validated(kind, data, where)


def later_version(where: str, written: int, version: int) -> UserError:
    """Return the error of a file that only a later kepler-train can read."""
    return UserError(
        f"{where} was written in version {written} of the format, and this kepler-train reads up to version"
        f" {version}: update it."
    )


def validated(kind: type[R], data: Any, where: str) -> R:
    """Return data as a record; refuse what is none by the first entry that is missing or wrong."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        entry = ".".join(str(part) for part in error.errors()[0]["loc"]) or "an object"
        raise UserError(f"{where} cannot be read: {entry} is missing or wrong.") from None

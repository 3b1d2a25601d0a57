"""Output files appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.scratch import ScratchFolder


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file beside `path` to write to; it takes the name when all went well."""
    try:
        scratch = ScratchFolder(path.parent, hidden=True)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}. Choose a folder that exists and is yours.") from error
    with scratch as folder:
        beside = folder / path.name
        try:
            yield beside
            beside.replace(path)
        except OSError as error:
            raise UserError(f"Cannot write {path}: {error.strerror or error}.") from error

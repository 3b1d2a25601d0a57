"""Output files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file beside `path` to write to; it takes the name when all went well."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}. Choose a folder that exists and is yours.") from error
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o644)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UserError(f"Cannot write {path}: {error.strerror or error}.") from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise

"""Tell what an existing file holds: a new result replaces an earlier one of the same kind, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from kepler_train.errors import UserError

# A query names its first metric, of which it has a list of series.
_QUERY = re.compile(rb'\s*\{\s*("[^"]*"\s*:\s*\[\s*\]\s*,\s*)*"[^"]*"\s*:\s*\[\s*(\]|\{\s*"(metric|values)")')
_LOOKED_AT = 65_536


def is_like(earlier: Path, new: Path) -> bool:
    """Return whether a file is a result of the same kind as a new one; an empty file has nothing to lose."""
    if not earlier.stat().st_size:
        return True
    if new.suffix == ".csv":
        headers = _header(earlier), _header(new)
        return headers[0] == headers[1] or all(map(_is_of_estimates, headers))
    if new.suffix == ".parquet":
        kind = _table_kind(new)
        return bool(kind) and kind == _table_kind(earlier)
    if new.suffix == ".json":
        return _keys(earlier) == _keys(new)
    return _is_picture(earlier)


def is_query_file(file: Path) -> bool:
    """Return whether a file is a kepler_query.json, by how it begins."""
    with file.open("rb") as content:
        start = content.read(_LOOKED_AT)
    return start.strip() in (b"", b"{}") or bool(_QUERY.match(start))


def _header(file: Path) -> bytes:
    with file.open("rb") as content:
        return content.readline(_LOOKED_AT).strip()


def _is_of_estimates(header: bytes) -> bool:
    """Return whether a CSV is one of `estimate`, of any components: no other table has ends of intervals."""
    return header.startswith(b"timestamp,") and header.endswith(b",outside") and b"_power_low," in header


def _table_kind(file: Path) -> str:
    from kepler_train.extract.frame_metadata import made_by, read_frame_metadata

    try:
        return made_by(read_frame_metadata(file))
    except UserError:
        return ""


def _keys(file: Path) -> set[str] | None:
    try:
        content: Any = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return None
    return set(content) if isinstance(content, dict) else None


def _is_picture(file: Path) -> bool:
    from kepler_train.export.pictures.style import DRAWN_BY

    content = file.read_bytes()
    return content.lstrip().startswith((b"\x89PNG", b"<?xml", b"%PDF")) and DRAWN_BY.encode() in content

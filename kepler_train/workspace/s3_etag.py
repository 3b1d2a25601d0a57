"""What S3 calls an object that was sent in parts of a known size, so that a file can be told from its ETag."""

from __future__ import annotations

import hashlib
from pathlib import Path

PART = 8 << 20  # bytes: a file of this size or more is sent in parts of it
_PIECE = 1 << 20  # bytes read at a time


def etag_of(file: Path) -> str:
    """Return the ETag of an object with the content of a file: its MD5, or that of the MD5s of its parts."""
    size = file.stat().st_size
    digests = []
    with file.open("rb") as content:
        for _ in range(max(1, -(-size // PART))):
            digest, left = hashlib.md5(usedforsecurity=False), PART
            while left and (piece := content.read(min(_PIECE, left))):
                digest.update(piece)
                left -= len(piece)
            digests.append(digest)
    if size < PART:
        return digests[0].hexdigest()
    whole = hashlib.md5(b"".join(digest.digest() for digest in digests), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(digests)}"

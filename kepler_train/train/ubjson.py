"""Universal Binary JSON (ubjson.org), as XGBoost reads models: arrays of numbers as they are in memory.

A tenth of the time of text, for trees of a hundred thousand nodes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

# Types of numbers in arrays.
_ARRAYS = {np.dtype(np.float32): b"d", np.dtype(np.int32): b"l", np.dtype(np.int64): b"L", np.dtype(np.uint8): b"U"}


def encoded(value: Any) -> bytes:
    """Dicts, lists, strings, numbers and numpy arrays of float32, int32, int64 or uint8 as bytes."""
    if isinstance(value, dict):
        return b"{" + b"".join(_sized(key.encode()) + encoded(part) for key, part in value.items()) + b"}"
    if isinstance(value, np.ndarray):
        big_endian = value.astype(value.dtype.newbyteorder(">")).tobytes()
        return b"[$" + _ARRAYS[value.dtype] + b"#" + _length(len(value)) + big_endian
    if isinstance(value, list):
        return b"[#" + _length(len(value)) + b"".join(encoded(part) for part in value)
    if isinstance(value, str):
        return b"S" + _sized(value.encode())
    return struct.pack(">cf", b"d", value) if isinstance(value, float) else struct.pack(">cq", b"L", value)


def _length(count: int) -> bytes:
    return struct.pack(">cq", b"L", count)


def _sized(content: bytes) -> bytes:
    return _length(len(content)) + content

"""Universal Binary JSON (ubjson.org), as XGBoost reads models: arrays of numbers as they are in memory.

XGBoost has no call that makes a booster of given trees, and reading a forest of 44,000 nodes as JSON text takes five
times the CPU time (120 ms instead of 25 ms, beside 180 ms to grow it).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

# Markers of the types of numbers in arrays.
_ARRAYS = {np.dtype(np.float32): b"d", np.dtype(np.int32): b"l", np.dtype(np.int64): b"L", np.dtype(np.uint8): b"U"}


def encode(value: Any) -> bytes:
    """Return dicts, lists, strings, numbers and numpy arrays of float32, int32, int64 or uint8 as bytes."""
    if isinstance(value, dict):
        return b"{" + b"".join(_text(key) + encode(child) for key, child in value.items()) + b"}"
    if isinstance(value, np.ndarray):
        big_endian = value.astype(value.dtype.newbyteorder(">")).tobytes()
        return b"[$" + _ARRAYS[value.dtype] + b"#" + _length(len(value)) + big_endian
    if isinstance(value, list):
        return b"[#" + _length(len(value)) + b"".join(encode(child) for child in value)
    if isinstance(value, str):
        return b"S" + _text(value)
    return struct.pack(">cf", b"d", value) if isinstance(value, float) else _length(value)


def _length(count: int) -> bytes:
    return struct.pack(">cq", b"L", count)


def _text(text: str) -> bytes:
    content = text.encode()
    return _length(len(content)) + content

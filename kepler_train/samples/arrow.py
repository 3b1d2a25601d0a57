"""Arrow columns from and as numpy arrays, without copies.

pyarrow's own array() and to_numpy() would import pandas, which takes half a second and 50 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TIMES = pa.timestamp("ms", tz="UTC")


def from_memory(
    kind: pa.DataType, *parts: npt.NDArray[Any] | bytes, valid: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return a column of one type from its buffers; what is not `valid` is null."""
    length = len(parts[0]) - (kind == pa.string())
    mask = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, length, [mask, *map(pa.py_buffer, parts)])


def as_numpy(column: pa.Array | pa.ChunkedArray, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the values of a column without nulls, which are of this type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    size = np.dtype(kind).itemsize
    return np.frombuffer(column.buffers()[1] or b"", kind, len(column), size * column.offset)


def are_valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where a column is not null."""
    mask = column.buffers()[0]
    if mask is None:
        return np.ones(len(column), dtype=bool)
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")
    return bits[column.offset : column.offset + len(column)].astype(bool)


def coded_words(words: Sequence[str | None]) -> pa.DictionaryArray:
    """Return a dictionary-coded column of words; None becomes null."""
    numbers: dict[str, int] = {}
    codes = np.array([-1 if word is None else numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int32)
    return words_by_code(codes, list(numbers), valid=codes >= 0)


def words_by_code(
    codes: npt.NDArray[np.int32], words: Sequence[str], valid: npt.NDArray[np.bool_] | None = None
) -> pa.DictionaryArray:
    """Return a dictionary-coded column of words by their numbers in a list."""
    texts = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.DictionaryArray.from_arrays(
        from_memory(pa.int32(), codes, valid=valid), from_memory(pa.string(), ends, b"".join(texts))
    )


def milliseconds(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return moments (Unix s) as a column of times holds them (Unix ms)."""
    return np.rint(seconds * 1000).astype(np.int64)

"""skops files as data: a zip with a list of what an object consists of, and its arrays.

skops writes them. Reading here makes nothing but numbers, texts, lists and arrays of numbers; every other object is a
`Part` that names its type, and whoever knows that type looks into it.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from kepler_train import strict_json
from kepler_train.models.archive import BROKEN, ENTRY

SCHEMA = "schema.json"
_PROTOCOL = 2  # of the format, which skops 0.16 writes
_MOST_ENTRIES = 20_000
_MOST_DIMENSIONS = 3
_KINDS = "biuf"  # of numbers in arrays


class NotSkops(ValueError):
    """Why a file is none of skops, as a part of a sentence."""


class Arrays:
    """The arrays of a file by the names of their entries; one that several objects have is read once."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._read: dict[str, npt.NDArray[Any]] = {}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return an array; nobody may change it."""
        if name not in self._read:
            self._read[name] = _array(self._files.get(name, b""))
        return self._read[name]


@dataclass(frozen=True)
class Part:
    """An object: the name of its type, and its attributes, which are read where they are asked for."""

    type_name: str
    _node: Mapping[str, Any]
    _arrays: Arrays

    def attributes(self) -> dict[str, Any]:
        """Return the attributes; of an array, a text, a number or a list its value, of all else a part."""
        attributes = _value(self._node.get("content"), self._arrays)
        if not isinstance(attributes, dict):
            raise NotSkops(f"{self.type_name} has no attributes")
        return attributes


def read_parts(content: bytes) -> Part:
    """Return the object that a skops file consists of; refuse compressed entries, which may unpack to any size."""
    if content.count(ENTRY) > _MOST_ENTRIES:
        raise NotSkops(f"it holds more than {_MOST_ENTRIES:,} files")
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != ZIP_STORED for entry in entries):
                raise NotSkops("it is compressed, which no estimator of ours is")
            if sum(entry.file_size for entry in entries) > len(content):  # the same bytes as many files
                raise NotSkops("its files are larger than itself")
            files = {entry.filename: archive.read(entry) for entry in entries}
    except NotSkops:
        raise
    except (*BROKEN, OSError) as error:
        raise NotSkops(f"it is cut short or no file of skops: {error}") from None
    schema = strict_json.parse(files.get(SCHEMA, b""))
    if not isinstance(schema, dict) or schema.get("protocol") != _PROTOCOL:
        raise NotSkops("it is of another version of skops")
    part = _value(schema, Arrays(files))
    if not isinstance(part, Part):
        raise NotSkops("it is no estimator")
    return part


def _value(node: Any, arrays: Arrays) -> Any:
    """Return the value of an entry of the list. It nests no deeper than its JSON."""
    if not isinstance(node, dict):
        raise NotSkops("an entry of its list is something else")
    content = node.get("content")
    match node.get("__loader__"):
        case "JsonNode" if isinstance(content, str):
            return strict_json.parse(content)
        case "NdArrayNode" if node.get("type") == "numpy":
            array = arrays[str(node.get("file"))]
            return array if node.get("__class__") == "ndarray" else array[()]
        case "ListNode" if isinstance(content, list):
            return [_value(entry, arrays) for entry in content]
        case "TupleNode" if isinstance(content, list):
            return tuple(_value(entry, arrays) for entry in content)
        case "DictNode" if isinstance(content, dict):
            return {name: _value(entry, arrays) for name, entry in content.items()}
        case _:
            return Part(f"{node.get('__module__')}.{node.get('__class__')}", node, arrays)


def _array(content: bytes) -> npt.NDArray[Any]:
    """Return an array of numbers, or of records of numbers, from numpy's own form."""
    source = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(source)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read_header[version](source)
        fields = [kind for kind, *_ in dtype.fields.values()] if dtype.fields else [dtype]
    except Exception as error:  # whatever a header that is made up leads to
        raise NotSkops(f"an array cannot be read: {error}") from None
    numbers = content[source.tell() :]
    if any(field.kind not in _KINDS or field.shape or not field.isnative or field.itemsize > 8 for field in fields):
        raise NotSkops(f"an array holds {strict_json.shown(str(dtype))}, which are no numbers")
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(numbers):
        raise NotSkops("an array is not as large as it says")
    flat = np.frombuffer(numbers, dtype).copy()
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def reproducible(content: bytes) -> bytes:
    """Return a skops file with consecutive numbers in place of memory addresses, and without the time."""
    with ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read(SCHEMA))
        numbers: dict[int, int] = {}
        files: dict[str, str] = {}
        _renumber(schema, numbers, files)
        out = io.BytesIO()
        with ZipFile(out, "w") as renamed:
            for old, new in sorted(files.items(), key=lambda pair: pair[1]):
                renamed.writestr(ZipInfo(new), archive.read(old))
            renamed.writestr(ZipInfo(SCHEMA), json.dumps(schema))
    return out.getvalue()


def _renumber(node: Any, numbers: dict[int, int], files: dict[str, str]) -> None:
    """Number objects and their files in the order in which they appear."""
    if isinstance(node, list):
        for child in node:
            _renumber(child, numbers, files)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "__id__":
                node[key] = numbers.setdefault(value, len(numbers))
            elif key == "file" and isinstance(value, str):
                node[key] = files.setdefault(value, f"{len(files):04}{PurePosixPath(value).suffix}")
            else:
                _renumber(value, numbers, files)

"""Changes of the files that models consist of: JSON, skops, and members inside ensembles."""

from __future__ import annotations

import base64
import io
import json
import zipfile
import zlib
from random import Random
from typing import Any

import numpy as np

from fuzz.json_mutations import mutate_document, mutate_json
from fuzz.mutations import mutate_bytes
from fuzz.tree_mutations import mutate_trees
from fuzz.zip_mutations import members_of, mutate_listing, mutate_member, packed

_NUMBERS = (0, 1, -1, 2, 100, 2**31 - 1, -(2**31), 2**62, -(2**62), np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324)


def mutate_file(name: str, content: bytes, random: Random) -> bytes:
    """Return a changed file of a model, by its name; of one that was changed before and cannot be read, bytes."""
    try:
        return _mutate_by_name(name, content, random)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, zlib.error, zipfile.BadZipFile, EOFError):
        return mutate_bytes(content, random)


def _mutate_by_name(name: str, content: bytes, random: Random) -> bytes:
    if name.endswith(".skops"):
        return mutate_skops(content, random)
    if name.endswith(".npy"):
        return mutate_array(content, random)
    if not name.endswith(".json"):
        return mutate_bytes(content, random)
    if b'"left_children"' in content and random.random() < 0.6:
        return mutate_trees(content, random)
    return mutate_ensemble(content, random) or mutate_json(content, random)


def mutate_ensemble(content: bytes, random: Random) -> bytes | None:
    """Return an ensemble with a changed member inside; None where it has none, or the rest is to change."""
    if b'"parts"' not in content or random.random() < 0.2:
        return None
    document: dict[str, Any] = json.loads(content)
    part = random.choice(document["parts"])
    if random.random() < 0.1:
        return mutate_document(document, random)
    inner = zlib.decompress(base64.b64decode(part["content"]))
    name = "part.skops" if part["kind"] == "estimator" else "part.json"
    part["content"] = base64.b64encode(zlib.compress(mutate_file(name, inner, random), 1)).decode()
    return json.dumps(document).encode()


def mutate_skops(content: bytes, random: Random) -> bytes:
    """Return a changed estimator: its zip, its schema, or one of its arrays."""
    match random.randrange(12):
        case 0:
            return mutate_bytes(content, random)
        case 1:
            return mutate_listing(content, random)
        case _:
            return packed(mutate_member(members_of(content), random, mutate_file))


def mutate_array(content: bytes, random: Random) -> bytes:
    """Return a changed `.npy` file: other numbers, another shape or type, or other bytes."""
    if random.random() < 0.15:
        return mutate_bytes(content, random)
    array = np.load(io.BytesIO(content))
    with np.errstate(all="ignore"):
        array = _changed(array, random)
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _changed(array: Any, random: Random) -> Any:
    number = random.choice(_NUMBERS)
    match random.randrange(9):
        case 0:
            return (
                array.astype(random.choice(("f4", "f8", "i4", "i8", "u1", "S3", "c16", "?")))
                if not array.dtype.names
                else array
            )
        case 1:
            return array.reshape(-1)
        case 2:
            return array[: len(array) // 2] if array.ndim else array
        case 3:
            return np.concatenate([array] * random.choice((2, 50))) if array.ndim else array
        case 4:
            return array[None]
        case 5:
            return np.zeros(random.choice((0, (0, 0), (3, 0), (1,), (2, 2, 2), ())))
        case _:
            flat = array.reshape(-1).copy()
            if flat.size:
                at = random.randrange(flat.size)
                _set(flat, at, number, random)
            return flat.reshape(array.shape)


def _set(flat: Any, at: int, number: float, random: Random) -> None:
    """Put a number into an array; of a record into one of its fields."""
    kind = flat.dtype
    name = random.choice(kind.names) if kind.names else None
    kind = kind[name] if name else kind
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        number = min(max(int(number), bounds.min), bounds.max) if np.isfinite(number) else bounds.max
    if kind.kind not in "iufb":
        return
    if name:
        flat[name][at] = number
    else:
        flat[at] = number

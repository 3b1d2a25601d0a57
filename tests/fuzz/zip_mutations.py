"""Changes of zips: of their members, the list of them, and what the list says of each."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from random import Random

from fuzz.mutations import mutate_bytes

Members = dict[str, bytes]
_NAMES = [
    "../escape",
    "/escape",
    "a/b",
    "n" * 300,
    "n" * 60_000,
    "a\0b",
    "",
    ".",
    "..",
    "CON",
    "\ud7ff",
    "a\nb",
    "C:a",
    "a\\b",
]
_MODES = [stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755, stat.S_IFIFO, stat.S_IFCHR | 0o666, stat.S_IFREG | 0o4777]
_FIELDS = ("header_offset", "compress_size", "file_size", "CRC", "flag_bits", "compress_type", "extract_version")


def members_of(content: bytes) -> Members:
    """Return the files of a zip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def packed(members: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            _add(archive, name, content, method)
    return out.getvalue()


def mutate_member(members: Members, random: Random, mutate: Callable[[str, bytes, Random], bytes]) -> Members:
    """Return the files with one of them changed, missing, or in the place of another."""
    changed = dict(members)
    name, other = random.choice(list(changed)), random.choice(list(changed))
    match random.randrange(20):
        case 0:
            del changed[name]
        case 1:
            changed[name] = changed[other]
        case 2:
            changed[name] = mutate_bytes(changed[name], random)
        case _:
            changed[name] = mutate(name, changed[name], random)
    return changed


def mutate_listing(content: bytes, random: Random) -> bytes:
    """Return the zip with another list of members: odd names, modes, methods, sizes and places."""
    try:
        return _with_other_listing(content, random)
    except (struct.error, ValueError):  # what no field of a zip can hold
        return mutate_bytes(content, random)


def _with_other_listing(content: bytes, random: Random) -> bytes:
    members = members_of(content)
    out = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(out, "w") as archive:  # two of one name
        for name, data in members.items():
            _add(archive, name, data, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
        entry = random.choice(archive.infolist())
        match random.randrange(8):
            case 0:
                _add(archive, random.choice(_NAMES), b"{}")
            case 1:
                entry.external_attr = random.choice(_MODES) << 16
            case 2 | 3:
                setattr(entry, random.choice(_FIELDS), random.choice((0, 1, 9, 99, 2**16 - 1, 2**31, 2**32 - 2)))
            case 4:
                _add(archive, entry.filename, data)
            case 5:
                method = random.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED))
                _add(archive, "zeros", bytes(random.choice((10, 2**20, 8 * 2**20))), method)
            case 6:
                entry.extra = random.randbytes(random.choice((1, 4, 40))) + struct.pack("<HH", 1, 24)
            case _:
                for number in range(random.choice((10, 300, 3000))):
                    _add(archive, f"more{number}", b"")
    return out.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes, method: int = zipfile.ZIP_STORED) -> None:
    entry = zipfile.ZipInfo("x")
    entry.filename, entry.external_attr, entry.compress_type = name, (stat.S_IFREG | 0o644) << 16, method
    archive.writestr(entry, content, compresslevel=1 if method == zipfile.ZIP_DEFLATED else None)

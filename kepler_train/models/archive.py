"""A model's folder as one zip: the same bytes for the same files, and read with suspicion."""

from __future__ import annotations

import errno
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.scratch import ScratchFolder
from kepler_train.strict_json import name_problem, shown

# The same files give the same archive, byte for byte.
EPOCH = (1980, 1, 1, 0, 0, 0)
# A model has some twenty files of a few MB; what is far beyond that is not one of ours.
MOST_FILES = 200
MOST_BYTES = 512 * 2**20  # of all files together
MOST_RATIO = 500  # of a file's size to its size in the archive; ours stay below 50
_SMALL = 2**20  # a file below this may be as repetitive as it likes
_CHUNK = 2**20
ENTRY = b"PK\1\2"  # what the entry of a file begins with in the directory of a zip
_MOST_ENTRIES = 50 * MOST_FILES  # packed content may hold the same bytes
_LEVEL = 1  # a third of the time of the usual 6, for a quarter more bytes
# What zipfile raises for one that was cut short or changed.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError, struct.error)


def write_archive(folder: Path, archive: Path) -> None:
    """Put the files of a folder into a zip."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for file in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(file.name, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (stat.S_IFREG | 0o644) << 16
            target.writestr(entry, file.read_bytes(), compresslevel=_LEVEL)


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """Yield a model's folder, or what its zip holds in a temporary folder."""
    if path.is_dir():
        yield path
        return
    if not path.is_file():
        raise UserError(f"There is no model {path}: name its folder or its zip.")
    if _count_entries(path) > _MOST_ENTRIES:  # before zipfile makes an object of each
        raise UserError(f"{path} holds more than {_MOST_ENTRIES} files, which is no model.")
    with ScratchFolder() as scratch:
        folder = Path(scratch) / path.stem
        folder.mkdir()
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, path, folder)
        except BROKEN as error:
            raise UserError(f"{path} is cut short or not a zip: {error}.") from None
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: a file that is said to begin before the archive does
                raise
            raise UserError(f"{path} is not a zip, or not all of it.") from None
        try:
            yield folder
        except UserError as error:  # a person knows the archive, not the folder it was unpacked to
            raise UserError(str(error).replace(str(folder), str(path))) from None


def _count_entries(path: Path) -> int:
    """Return how many files a zip may have at most."""
    count, before = 0, b""
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            count += (before + chunk).count(ENTRY)
            before = chunk[1 - len(ENTRY) :]
    return count


def _unpack(archive: zipfile.ZipFile, path: Path, folder: Path) -> None:
    """Write every file of an archive into a folder, unless one of them is not what a model has."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise UserError(f"{path} holds {len(entries)} files, which is no model: at most {MOST_FILES} are read.")
    if len({entry.filename for entry in entries}) < len(entries):
        raise UserError(f"{path} holds two files of one name: it was not written by kepler-train.")
    for entry in entries:
        _check_entry(entry, path)
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise UserError(f"{path} would be more than {MOST_BYTES >> 20} MB when unpacked, which is no model.")
    for entry in entries:
        _write_entry(archive, entry, path, folder)


def _check_entry(entry: zipfile.ZipInfo, path: Path) -> None:
    name, kind = entry.filename, entry.external_attr >> 16
    # ZipInfo has turned the separators of this system into /, and cut names at NUL; orig_filename is what is written.
    if name in (".", "..") or set(entry.orig_filename) & {"/", "\\", ":", "\0"}:
        raise UserError(
            f"{path} holds {shown(entry.orig_filename)}, which is not the plain name of a file: nothing is read."
        )
    if problem := name_problem(name):
        raise UserError(f"{path} holds a file whose name is none: {problem}; nothing is read.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UserError(f"{path} holds {name!r}, which is packed in another way than deflated: nothing is read.")
    if stat.S_IFMT(kind) not in (0, stat.S_IFREG):
        raise UserError(f"{path} holds {name!r}, which is a link or a device and not a file: nothing is read.")
    if entry.flag_bits & 0x1:
        raise UserError(f"{path} is encrypted: unpack it yourself and name the folder.")
    if entry.file_size > max(_SMALL, MOST_RATIO * entry.compress_size):
        raise UserError(f"{path} holds {name!r}, which is packed more than {MOST_RATIO}-fold: nothing is read.")


def _write_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, folder: Path) -> None:
    """Write one file; zipfile never hands out more than the declared size, and checks what it handed out."""
    file = folder / entry.filename
    with archive.open(entry) as source, file.open("xb") as target:
        shutil.copyfileobj(source, target, _CHUNK)
    if file.stat().st_size != entry.file_size:
        raise UserError(f"{path} holds {entry.filename!r}, which is not as large as it says: nothing is read.")

"""Collected data in a store, for training without a cluster or Prometheus: `<machine id>/data/<date>/`.

| file | what |
|---|---|
| `manifest.json` | what was collected when, and every file with size and SHA-256 |
| `<digest>/kepler_query/`, or `kepler_query.json` | the samples |
| `<digest>/idle/`, or `idle.json` | samples of the idle machine |
| `<digest>/machine.json`, `schedule.json` | what the machine is, and which load ran when |

The manifest is written last and by one pusher at a time, so a collection is there whole or not at all. Files are in a
folder named for their contents: other contents never take their place while somebody reads them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from kepler_train import __version__
from kepler_train.errors import TryAgain, UserError, unknown_name
from kepler_train.hashing import sha256_of
from kepler_train.records import Record, read_record
from kepler_train.spec import NAME_PATTERN
from kepler_train.workspace.manifest import MANIFEST, FileRecord, record_of
from kepler_train.workspace.stores import FileStore

QUERY, IDLE_QUERY, MACHINE, PHASES = "kepler_query", "idle", "machine.json", "schedule.json"
_DATA = "data"
_DATE = r"\d{4}-\d{2}-\d{2}([._-][A-Za-z0-9._-]{1,80})?"
_DIGITS = 32
_AT_ONCE = 8  # files that are sent or fetched
T = TypeVar("T")


class Collection(Record):
    """What one machine was measured with, once: the window (UTC), and the files below the folder `digest`."""

    schema_version: Literal[1] = 1
    machine_id: str
    date: str
    digest: str
    window: tuple[datetime, datetime]
    files: tuple[FileRecord, ...]
    version: str = ""

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size for file in self.files)

    def has(self, name: str) -> bool:
        """Tell whether there is a file, a folder or a JSON file of that name."""
        return any(file.path in (name, f"{name}.json") or file.path.startswith(f"{name}/") for file in self.files)


def check_name(machine_id: str, date: str = "") -> None:
    """Refuse names that are no part of a path, or a date that is none."""
    if not re.fullmatch(NAME_PATTERN, machine_id):
        raise UserError(f"--id {machine_id!r} is not the name of a machine: it has letters, digits and ._- only.")
    if date and not _is_date(date):
        raise UserError(f"--date {date!r} is not a date: write it as 2026-11-16, or as 2026-11-16-night.")


def _is_date(name: str) -> bool:
    try:
        datetime.strptime(name[:10], "%Y-%m-%d")
    except ValueError:
        return False
    return bool(re.fullmatch(_DATE, name))


def push(
    store: FileStore, folder: Path, machine_id: str, date: str, window: tuple[datetime, datetime], *, replace: bool
) -> tuple[Collection, bool]:
    """Store the files of a folder as the collection of a date; return it, and whether it is new.

    The same files again change nothing. Others are refused, unless they are to `replace` what is there: then readers
    find the new ones from one moment to the next.
    """
    check_name(machine_id, date)
    files = tuple(record_of(path, folder, hashed=True) for path in sorted(folder.rglob("*")) if path.is_file())
    digest = _digest(files)
    fresh = Collection(machine_id=machine_id, date=date, digest=digest, window=window, files=files, version=__version__)
    home = f"{machine_id}/{_DATA}/{date}"
    _may_take_place(read_collection(store, machine_id, date), fresh, store, replace)
    present = store.sizes(f"{home}/{digest}")
    missing = [file for file in files if present.get(f"{home}/{digest}/{file.path}") != file.size]
    with store.scratch() as scratch:
        # A folder store moves what it is given into its place.
        sent = Path(shutil.copytree(folder, scratch / digest))
        _each(lambda file: store.upload(sent / file.path, f"{home}/{digest}/{file.path}"), missing)
    before: Collection | None = None

    def manifest(content: bytes | None) -> bytes | None:
        nonlocal before
        before = _read(content, f"{store.uri}/{home}/{MANIFEST}")
        _may_take_place(before, fresh, store, replace)
        return None if before and before.digest == digest else fresh.model_dump_json(indent=1).encode()

    store.update(f"{home}/{MANIFEST}", manifest)
    if before and before.digest != digest:
        for file in before.files:
            store.delete(f"{home}/{before.digest}/{file.path}")
    return fresh, before is None or before.digest != digest


def _may_take_place(before: Collection | None, fresh: Collection, store: FileStore, replace: bool) -> None:
    if before and before.digest != fresh.digest and not replace:
        raise UserError(
            f"{store.uri} has other data of {fresh.machine_id} for {fresh.date}, and they are kept: name this"
            f" collection with --date {fresh.date[:10]}-2, or say --replace."
        )


def pull(store: FileStore, collection: Collection, out: Path) -> None:
    """Fetch the files of a collection into an empty folder; refuse one that is not what was pushed."""
    place = f"{collection.machine_id}/{_DATA}/{collection.date}/{collection.digest}"

    def fetch(file: FileRecord) -> None:
        path = store.download(f"{place}/{file.path}", scratch)
        if not path.is_file():
            now = read_collection(store, collection.machine_id, collection.date)
            if now and now.digest != collection.digest:
                raise TryAgain(f"The data of {collection.machine_id} for {collection.date} were replaced: pull again.")
            raise _changed(store, place, file, "is missing")
        target = out / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)  # what a folder store gives is a link to its own file
        if sha256_of(target) != file.sha256:
            raise _changed(store, place, file, "was changed")

    with store.scratch() as scratch:
        _each(fetch, collection.files)


def _changed(store: FileStore, place: str, file: FileRecord, how: str) -> UserError:
    return UserError(f"{store.uri}/{place}/{file.path} {how}: it is not what was pushed. Push the data again.")


def read_collection(store: FileStore, machine_id: str, date: str) -> Collection | None:
    """Return the collection of a date; None where there is none, or a pusher was killed before it was whole."""
    key = f"{machine_id}/{_DATA}/{date}/{MANIFEST}"
    return _read(store.read(key), f"{store.uri}/{key}")


def find_collections(store: FileStore, machine_id: str, dates: Sequence[str]) -> list[Collection]:
    """Return the collections of a machine, of the dates that are named or of all, the oldest first; refuse none."""
    known = collections_of(store, machine_id)
    if not known:
        machines = machines_in(store)
        there = unknown_name("machine", machine_id, machines) if machines else "There are no data of any machine."
        raise UserError(f"{there} The store is {store.uri}.")
    for date in dates:
        if date not in known:
            raise UserError(f"{unknown_name(f'collection of {machine_id}', date, known)} The store is {store.uri}.")
    return [collection for date, collection in known.items() if not dates or date in dates]


def machines_in(store: FileStore) -> list[str]:
    """Return the machines that a store has data of."""
    return [name for name in store.folders() if re.fullmatch(NAME_PATTERN, name) and store.folders(f"{name}/{_DATA}")]


def collections_of(store: FileStore, machine_id: str) -> dict[str, Collection]:
    """Return the collections of a machine by date, the oldest first."""
    check_name(machine_id)
    dates = [name for name in sorted(store.folders(f"{machine_id}/{_DATA}")) if _is_date(name)]
    found = _each(lambda date: read_collection(store, machine_id, date), dates)
    return {collection.date: collection for collection in found if collection}


def _read(content: bytes | None, where: str) -> Collection | None:
    if content is None:
        return None
    collection = read_record(Collection, content, where)
    for file in collection.files:
        if Path(file.path).is_absolute() or ".." in Path(file.path).parts:
            raise UserError(f"{where} names {file.path!r}, which leads out of its folder: push the data again.")
    if not re.fullmatch(r"[0-9a-f]{32}", collection.digest) or collection.digest != _digest(collection.files):
        raise UserError(f"{where} was changed: its files are not those it is named for. Push the data again.")
    return collection


def _digest(files: Sequence[FileRecord]) -> str:
    text = "".join(f"{file.sha256}  {file.path}\n" for file in sorted(files, key=lambda file: file.path))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _each(work: Callable[..., T], things: Sequence[object]) -> list[T]:
    """Do the same to several things at once; the first error ends all."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, things))

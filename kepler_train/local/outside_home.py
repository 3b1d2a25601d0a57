"""Folders of root's stack outside of its home, because PostgreSQL's user cannot enter a closed folder such as /root.

Below /var/lib/kepler-train lie databases (`postgres-…`) and copies of PostgreSQL's programs (`programs-…`). Beside each
lies a note of what it belongs to: `kepler-train local clean` removes one's own, and the next start of any stack removes
those whose owner is gone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.local.files import open_private, write_private
from kepler_train.local.process import running_below
from kepler_train.local.server_user import User, can_enter, can_use, open_to_all

_ROOT = Path("/var/lib/kepler-train")
_POINTER = "elsewhere"
"""The file in a database's own folder that names the place of its files: who deletes the folder starts afresh."""


def place_for(folder: Path, user: User | None) -> Path:
    """Return `folder` itself when `user` can work there, else a private folder outside that belongs to `user`."""
    folder.mkdir(parents=True, exist_ok=True)
    if user is None:
        folder.chmod(0o700)
        return folder
    place = folder if can_enter(folder.parent, user) else _database_place(folder)
    os.chown(place, *user)
    place.chmod(0o700)
    return place


def programs_for(site: Path, parts: Sequence[str], user: User | None) -> Path:
    """Return `site` when `user` can run the `parts` (folders) in it, else a copy of them outside that everybody can."""
    if user is None or all(can_use(site / part, user) for part in parts):
        return site
    with _locked():
        copy = _ROOT / _programs_name(site, parts)
        if not copy.exists():
            draft = copy.with_name(f"{copy.name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            for part in parts:
                shutil.copytree(site / part, draft / part, symlinks=True)
            open_to_all(draft)
            _write_note(copy, {"site": str(site), "parts": list(parts), "device": site.stat().st_dev})
            draft.rename(copy)
    return copy


def kept_for(folder: Path, site: Path | None) -> list[Path]:
    """Return what lies outside for the database in `folder` and for the programs in `site`."""
    if os.geteuid() != 0:
        return []
    pointed = _pointed(folder)
    copies = [entry for entry, note in _entries() if note.get("site") == str(site)]
    return [*([pointed] if pointed and pointed.exists() else []), *copies]


def remove(kept: Sequence[Path]) -> list[Path]:
    """Remove entries that no process uses; returns those."""
    if not kept:  # a normal user cannot even lock
        return []
    removed = []
    with _locked():
        for entry in kept:
            if not running_below(entry):
                _delete(entry)
                removed.append(entry)
    return removed


def sweep() -> list[Path]:
    """Remove what belongs to homes and environments that are gone; returns what was removed."""
    if os.geteuid() != 0 or not _ROOT.is_dir():
        return []
    return remove([entry for entry, note in _entries() if _abandoned(entry, note)])


def _database_place(folder: Path) -> Path:
    with _locked():
        place = _pointed(folder) or _ROOT / f"postgres-{secrets.token_hex(6)}"
        _write_note(place, {"folder": str(folder), "device": folder.stat().st_dev})
        (folder / _POINTER).write_text(str(place))
        place.mkdir(mode=0o700, exist_ok=True)
        _move_database(folder, place)
    return place


def _move_database(folder: Path, place: Path) -> None:
    """Move a database that was made in the home when its server's user could still enter that."""
    if not (folder / "data").exists() or (place / "data").exists():
        return
    draft = place / "data.draft"  # a killed move begins again; one that was killed before its last line is whole
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(folder / "data", draft, symlinks=True)
    owner = (folder / "data").stat()
    for path in (draft, *draft.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    draft.rename(place / "data")
    shutil.rmtree(folder / "data")


def _pointed(folder: Path) -> Path | None:
    """Return the place that a database's folder names; nothing but an entry of ours is believed."""
    try:
        place = Path((folder / _POINTER).read_text().strip())
    except FileNotFoundError:
        return None
    return place if place.parent == _ROOT and place.name.startswith("postgres-") else None


def _programs_name(site: Path, parts: Sequence[str]) -> str:
    """Name a copy by where its original lies and when that was installed: a renewed one gets a new copy."""
    times = [(site / part).stat().st_ctime_ns for part in parts]
    return f"programs-{hashlib.sha256(f'{site} {times}'.encode()).hexdigest()[:12]}"


def _abandoned(entry: Path, note: dict[str, object]) -> bool:
    """Say whether nobody can come back for an entry."""
    owner = note.get("folder") or note.get("site")
    if not isinstance(owner, str):
        # A copy or a draft without a note is made again when it is needed. A database is not.
        return entry.name.startswith("programs-")
    if not _mounted(Path(owner), note.get("device")):
        return False
    if "folder" in note:
        return _pointed(Path(owner)) != entry
    parts = note.get("parts")
    try:
        return not isinstance(parts, list) or _programs_name(Path(owner), parts) != entry.name
    except FileNotFoundError:
        return True


def _mounted(owner: Path, device: object) -> bool:
    """Say whether the disk that `owner` lay on is there: what is on a disk that was taken out is not gone."""
    existing = next(part for part in (owner, *owner.parents) if part.exists())
    return existing.stat().st_dev == device


def _entries() -> Iterator[tuple[Path, dict[str, object]]]:
    if _ROOT.is_dir():
        for entry in sorted(_ROOT.iterdir()):
            if entry.is_dir():
                yield entry, _read_note(entry)


def _note(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}.json")


def _read_note(entry: Path) -> dict[str, object]:
    try:
        return dict(json.loads(_note(entry).read_text()))
    except (FileNotFoundError, ValueError):
        return {}


def _write_note(entry: Path, content: dict[str, object]) -> None:
    write_private(_note(entry), json.dumps(content))


def _delete(entry: Path) -> None:
    with suppress(FileNotFoundError):  # another stack has swept it meanwhile
        shutil.rmtree(entry)
    _note(entry).unlink(missing_ok=True)


@contextmanager
def _locked() -> Iterator[None]:
    """Keep other stacks of this machine from making or removing entries meanwhile."""
    try:
        _ROOT.mkdir(mode=0o711, parents=True, exist_ok=True)
        _ROOT.chmod(0o711)  # PostgreSQL's user passes through; nobody reads whose homes these are
        lock = open_private(_ROOT / "lock", "w")
    except OSError as error:
        raise UserError(
            f"PostgreSQL cannot run as root, and {_ROOT} cannot be made for its own user ({error.strerror}):"
            " run as a normal user, or choose a --home that other users can reach."
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

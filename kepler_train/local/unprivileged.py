"""For root only: PostgreSQL refuses to run as root, so it gets a user of its own and folders that user can reach."""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import shutil
import stat
import subprocess
from pathlib import Path

from kepler_train.errors import UserError

_USER = "kepler-train"
_SHARED = Path("/var/lib/kepler-train")
"""Where files go that live below a folder closed to other users, such as /root; nobody's home is opened for us."""

User = tuple[int, int]


def server_user() -> User | None:
    """User and group for a server that must not be root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(_USER)
    except KeyError:
        command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "--user-group", _USER]
        try:
            subprocess.run(command, check=True, capture_output=True)
            entry = pwd.getpwnam(_USER)
        except (OSError, subprocess.CalledProcessError):
            entry = pwd.getpwnam("nobody")  # a container without useradd, or with a read-only /etc
    return entry.pw_uid, entry.pw_gid


def place_for(folder: Path, user: User | None) -> Path:
    """`folder` itself when `user` can work there, else a private folder below /var/lib that belongs to it."""
    folder.mkdir(parents=True, exist_ok=True)
    if user is None:
        folder.chmod(0o700)
        return folder
    place = folder if reachable(folder.parent, user) else _elsewhere(folder)
    os.chown(place, *user)
    place.chmod(0o700)
    return place


def readable_copy(programs: Path, user: User | None) -> Path:
    """`programs` itself when `user` can run them, else a copy below /var/lib."""
    if user is None or reachable(programs / "bin", user):
        return programs
    digest = hashlib.sha256(f"{programs} {programs.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    copy = _shared() / f"programs-{digest}"
    if not copy.exists():
        draft = copy.with_name(f"{copy.name}.{secrets.token_hex(4)}")
        shutil.copytree(programs, draft, symlinks=True)
        draft.rename(copy)
    return copy


def reachable(folder: Path, user: User) -> bool:
    """Whether `user` can pass through `folder` and everything above it."""
    return all(_passes(part, user) for part in (folder, *folder.parents))


def _passes(folder: Path, user: User) -> bool:
    about = folder.stat()
    if about.st_uid == user[0]:
        return bool(about.st_mode & stat.S_IXUSR)
    if about.st_gid == user[1]:
        return bool(about.st_mode & stat.S_IXGRP)
    return bool(about.st_mode & stat.S_IXOTH)


def _elsewhere(folder: Path) -> Path:
    # The name is random and kept in the folder: who deletes the folder starts afresh.
    note = folder / "elsewhere"
    if not note.exists():
        note.write_text(str(_shared() / f"postgres-{secrets.token_hex(6)}"))
    place = Path(note.read_text().strip())
    _shared()
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def _shared() -> Path:
    try:
        _SHARED.mkdir(mode=0o755, parents=True, exist_ok=True)
        _SHARED.chmod(0o755)
    except OSError as error:
        raise UserError(
            f"PostgreSQL cannot run as root, and {_SHARED} cannot be made for its own user ({error.strerror}):"
            " run as a normal user, or choose a --home that other users can reach."
        ) from error
    return _SHARED

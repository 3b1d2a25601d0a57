"""The user of servers that refuse to run as root, as PostgreSQL does, and what that user can reach."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kepler_train.errors import UserError

_USER = "kepler-train"
_SHARED = "nobody"
"""Where there is no useradd, or /etc is read-only."""

User = tuple[int, int]
"""Numbers of a user and its group."""


def server_user() -> User | None:
    """Return user and group for a server that must not be root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    entry = _entry(_USER) or _made() or _entry(_SHARED)
    if entry is None:
        raise UserError(
            f"PostgreSQL cannot run as root, and this machine has neither a user {_USER} nor nobody:"
            f" make one (useradd --system {_USER}), or run as a normal user."
        )
    return entry.pw_uid, entry.pw_gid


def shared_user_warning(user: User | None) -> str:
    """Return what to say where a server runs as a user that other programs share; else nothing."""
    if user is None or pwd.getpwuid(user[0]).pw_name != _SHARED:
        return ""
    return (
        f"The user {_USER} cannot be made here, so PostgreSQL runs as {_SHARED}: other programs of {_SHARED} can read"
        f" and change its data. To keep them out, make the user (useradd --system {_USER})."
    )


def can_enter(folder: Path, user: User) -> bool:
    """Return whether `user` can pass through `folder` and everything above it."""
    return all(_allows(part, user, stat.S_IXUSR) for part in (folder, *folder.parents))


def can_use(folder: Path, user: User) -> bool:
    """Return whether `user` can reach `folder`, and read and run all that is in it."""
    return can_enter(folder, user) and all(_may_use(path, user) for path in (folder, *_below(folder)))


def open_to_all(folder: Path) -> None:
    """Let every user read `folder` and what is in it, and run what its owner can run, whatever the umask was."""
    for path in (folder, *_below(folder)):
        mode = path.stat().st_mode
        path.chmod(0o755 if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0o644)


def _entry(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _made() -> pwd.struct_passwd | None:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "--user-group", _USER]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return _entry(_USER)


def _below(folder: Path) -> Iterator[Path]:
    """Yield files and folders; links are left out, what they point to is in the folder or the system's."""
    return (path for path in folder.rglob("*") if not path.is_symlink())


def _may_use(path: Path, user: User) -> bool:
    mode = path.stat().st_mode
    runs = stat.S_IXUSR if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0
    return _allows(path, user, stat.S_IRUSR | runs)


def _allows(path: Path, user: User, rights: int) -> bool:
    """Return whether `path` grants `user` all of `rights`, given as the owner's bits."""
    about = path.stat()
    shift = 0 if about.st_uid == user[0] else 3 if about.st_gid == user[1] else 6
    return (about.st_mode << shift) & rights == rights

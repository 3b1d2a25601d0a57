"""A stack's home belongs to who runs the stack, and is closed to everybody else."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from kepler_train.errors import UserError

UMASK = 0o077
"""Of every process of a stack: what it writes is its owner's alone, whatever the umask of who started it."""
STATE = "state.json"
"""The file by which a folder is known as the home of a stack."""
_OTHERS = 0o077
_WRITTEN_BY_US = (STATE, "lock", "logs", "airflow", "postgres", "prometheus", "s3", "workspace", "demo")


def refuse_foreign(home: Path) -> None:
    """Refuse a home that is another user's, or a link of or to another user's: they could change what we run."""
    if not os.path.lexists(home):
        return
    try:
        owners = {home.lstat().st_uid, home.stat().st_uid}
    except OSError as error:
        raise UserError(f"The home {home} cannot be used ({error.strerror}): choose a --home of your own.") from None
    if others := owners - {os.geteuid()}:
        what = f"is a link to {home.resolve()}, and one of the two" if home.is_symlink() else "is a folder that"
        raise UserError(f"The home {home} {what} belongs to {_name(others.pop())}: choose a --home of your own.")


def make_private(home: Path) -> bool:
    """Make the home, or close an existing one to other users; return whether it was open to them.

    A folder of other things is not ours to close: it is refused.
    """
    refuse_foreign(home)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not home.stat().st_mode & _OTHERS:
        return False
    if not (home / STATE).exists() and any(home.iterdir()):
        raise UserError(
            f"The home {home} holds files that are not a stack's, and other users can enter it:"
            f" choose an empty folder, or close it to them (chmod 700 {home})."
        )
    home.chmod(0o700)
    for entry in _written_by_us(home):
        mode = entry.lstat().st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            entry.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    return True


def _written_by_us(home: Path) -> Iterator[Path]:
    for entry in (home / name for name in _WRITTEN_BY_US):
        if entry.exists():
            yield entry
            for folder, folders, files in os.walk(entry):
                yield from (Path(folder, name) for name in (*folders, *files))


def _name(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"the user {uid}"

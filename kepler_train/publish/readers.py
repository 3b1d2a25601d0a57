"""Who may read a folder may read what is published into it, although the embedded stack writes for its owner alone."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_READ, _ENTER = 0o044, 0o011


def let_readers_in(root: Path, published: Iterable[Path]) -> None:
    """Grant group and others on what was published what `root` grants them of reading and entering."""
    granted = root.stat().st_mode & (_READ | _ENTER)
    for path in published:
        mode = path.lstat().st_mode
        wanted = mode | granted & (_READ | _ENTER if stat.S_ISDIR(mode) else _READ)
        if wanted != mode and not stat.S_ISLNK(mode):
            with suppress(PermissionError):  # another publisher's, who granted what he wanted
                path.chmod(stat.S_IMODE(wanted))

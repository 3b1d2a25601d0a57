"""Watch what Python does during a case: files written elsewhere, programs started, pickles read, addresses called."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.symlink": 1,
    "os.link": 1,
    "os.truncate": 0,
}
_PROGRAMS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "pty.spawn")


class Guard:
    """An audit hook, which Python offers no way to remove: it is asleep outside of `watch` and `stop`."""

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._allowed, self._deeds = frozenset(allowed), list[str]()
        self._folders: tuple[str, ...] = ()
        sys.addaudithook(self._notice)

    def allows(self, what: str) -> bool:
        """Return whether cases may do this."""
        return what in self._allowed

    def watch(self, *folders: Path) -> None:
        """Begin: only what is below the folders may be written."""
        self._deeds, self._folders = [], tuple(os.path.realpath(folder) for folder in folders)

    def stop(self) -> list[str]:
        """End; return what must not be, a line each."""
        self._folders = ()
        return self._deeds

    def _notice(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._folders:
            return
        if event == "open":
            path, _, flags = args
            if flags is not None and flags & _WRITING:
                self._written(path)
        elif event in _CHANGES:
            self._written(args[_CHANGES[event]])
        elif event in _PROGRAMS and "programs" not in self._allowed:
            self._deeds.append(f"a program was started: {event} {str(args[0])[:200]}")
        elif event == "pickle.find_class":
            self._deeds.append(f"a pickle was read: {args[0]}.{args[1]}")
        elif event == "socket.connect" and not ("loopback" in self._allowed and args[1][0] == "127.0.0.1"):
            self._deeds.append(f"an address was called: {args[1]}")

    def _written(self, path: Any) -> None:
        if isinstance(path, int) or path is None:
            return
        folder, name = os.path.split(os.fspath(path))
        folder = os.path.realpath(folder or ".")
        place = os.path.join(os.fsdecode(folder), os.fsdecode(name))  # noqa: PTH118 - of bytes too
        if not place.startswith(tuple(f"{own}/" for own in self._folders)) and place not in (
            *self._folders,
            "/dev/null",
        ):
            self._deeds.append(f"{place} was written")

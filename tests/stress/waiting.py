"""Waiting for what processes under test do."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(true: Callable[[], object], seconds: float = 20.0) -> bool:
    """Return whether it becomes true; a file or a process that is not there is not true yet."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if true():
                return True
        except OSError:  # nothing was written yet, or a process ended while we looked at it
            pass
        time.sleep(0.02)
    return False

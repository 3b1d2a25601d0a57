"""Being told to stop, and being alone: signals become an answer to a question, and one run has the machine."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Self

from kepler_train.errors import UserError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOCK_SECONDS = 2.5
"""A run that was killed holds the machine until its load is gone, for which that has two seconds."""


class Stopping:
    """Within it, SIGINT, SIGTERM and SIGHUP interrupt nothing: they end every wait, and `signal` says which it was."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._earlier: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._earlier = {one: signal.signal(one, self._note) for one in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._earlier.items():
            signal.signal(one, handler)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float, *others: int) -> bool:
        """Wait for a signal or until one of the `others` (descriptors) can be read; whether one of these can."""
        ready, _, _ = select.select([self._read, *others], [], [], max(seconds, 0))
        return any(one in ready for one in others)

    def sleep(self, seconds: float) -> None:
        """Wait, unless told to stop."""
        self.wait(seconds)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = self.signal or signal.Signals(number)
        with suppress(BlockingIOError):
            os.write(self._write, b"\0")


@contextmanager
def alone(sysfs: Path) -> Iterator[int]:
    """The only stress run of the machine, of whichever user; the lock's descriptor is given.

    The lock is on the kernel's own folder of CPUs: there is one on each machine, and nothing is left behind.
    """
    place = sysfs / "devices" / "system" / "cpu"
    try:
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UserError(f"There is no machine below {sysfs}: {place}: {error.strerror}.") from None
    try:
        _take(lock)
        yield lock
    finally:
        os.close(lock)


def _take(lock: int) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UserError(
                    "Another stress run has this machine: wait for its end, or stop it; two loads at once measure"
                    " neither."
                ) from None
            time.sleep(0.1)

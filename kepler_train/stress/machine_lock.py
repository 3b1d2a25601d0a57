"""The lock of a machine: one stress run at a time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kepler_train.errors import UserError

_LOCK_SECONDS = 2.5
"""A run that was killed holds the machine until its load is gone, for which that has two seconds."""


@contextmanager
def machine_lock(sysfs: Path) -> Iterator[int]:
    """Hold the machine for one stress run, of whichever user; yield the lock's descriptor.

    The lock is on the kernel's own folder of CPUs: there is one on each machine, and nothing is left behind.
    """
    cpus = sysfs / "devices" / "system" / "cpu"
    try:
        lock = os.open(cpus, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UserError(f"There is no machine below {sysfs}: {cpus}: {error.strerror}.") from None
    try:
        _acquire(lock)
        yield lock
    finally:
        os.close(lock)


def _acquire(lock: int) -> None:
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

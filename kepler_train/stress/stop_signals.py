"""Signals that stop a stress run: they end every wait instead of interrupting the program."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP as a question: within it they only end waits, and `signal` tells which one came."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._earlier: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._earlier = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float, *others: int) -> bool:
        """Wait so long, or until a signal comes or one of `others` can be read; return whether one can be."""
        ready, _, _ = select.select([self._read, *others], [], [], max(seconds, 0))
        return any(other in ready for other in others)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = self.signal or signal.Signals(number)
        with suppress(BlockingIOError):
            os.write(self._write, b"\0")

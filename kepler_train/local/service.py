"""A service of the embedded stack: a program, its start, the sign that it works, and its end."""

from __future__ import annotations

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from kepler_train.errors import TryAgain
from kepler_train.local.ports import Port
from kepler_train.local.process import HOME, SERVICE_MARK, STACK_MARK, Child, kill_all, marked

Environment = Mapping[str, str]


class Service(ABC):
    """A program: alone a context manager, in the stack started, watched and restarted by the supervisor."""

    name: str
    log: Path
    needs: tuple[str, ...] = ()
    """Services that must be ready before this one starts."""
    once: ClassVar[bool] = False
    """It does its work and ends; having ended well is being ready."""
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    stop_seconds: ClassVar[float] = 10.0
    start_seconds: ClassVar[float] = 60.0
    orphan_signal: ClassVar[signal.Signals] = signal.SIGKILL
    run_as: tuple[int, int] | None = None

    home: Path | None = None
    """The stack's home when the service is part of one: by it the leftovers of an earlier life are known."""
    ports: tuple[Port, ...] = ()
    child: Child | None = None
    _asked = False

    @abstractmethod
    def command(self) -> list[str]:
        """Return the program and its arguments; never a secret."""

    @abstractmethod
    def ready(self) -> bool:
        """Return whether it can be used now, within about two seconds."""

    @property
    def address(self) -> str:
        """Return where it can be reached, for people."""
        return ""

    def environment(self) -> Environment:
        """Return variables on top of those of this process."""
        return {}

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Make ready for a start: folders, configuration, no leftovers of an earlier life."""

    def tidy(self) -> None:  # noqa: B027 - most leave nothing
        """Remove what a dead server leaves behind and nobody else removes."""

    def leftovers(self) -> list[int]:
        """Return processes of an earlier life of this service that still run."""
        return marked({SERVICE_MARK: self.name, STACK_MARK: str(self.home)}) if self.home else []

    def start(self) -> None:
        """Start the program; `ready` says when it can be used."""
        self.clear()
        self.prepare()
        environment = {**os.environ, **self.environment(), SERVICE_MARK: self.name}
        if self.home:
            environment[HOME] = environment[STACK_MARK] = str(self.home)
        self.child = Child(self.command(), self.log, environment, run_as=self.run_as, orphan_signal=self.orphan_signal)

    def stop(self) -> None:
        """End the program and all it started; it may be started again."""
        if self.child is not None:
            self.ask_to_stop()
            self.child.wait(self.stop_seconds)
            self.child = None
        self.clear()

    def ask_to_stop(self) -> None:
        """Begin to end it, once; `stop` waits for the end."""
        if self.child is not None and not self._asked:
            self.child.ask(self.stop_signal)
            self._asked = True

    def close(self) -> None:
        """Release its ports."""
        for port in self.ports:
            port.release()

    def clear(self) -> None:
        """Remove every trace of a life that has ended, so that the next one starts alone."""
        kill_all(self.leftovers)
        self.tidy()

    def wait_ready(self) -> None:
        """Wait until it is ready; raise with the end of its log when it does not get so."""
        deadline = time.monotonic() + self.start_seconds
        while not self.ready():
            ended = self.child is None or self.child.exit_code is not None
            if ended or time.monotonic() > deadline:
                self.stop()
                why = "ended" if ended else f"was not ready within {self.start_seconds:.0f} s"
                raise TryAgain(f"{self.name} {why}, {self.last_words()} ({self.log})")
            time.sleep(0.05)

    def last_words(self, lines: int = 3) -> str:
        """Return the end of its log, as the end of a sentence."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
                text = log.read().decode(errors="replace")
        except FileNotFoundError:
            text = ""
        written = [line.strip() for line in text.splitlines() if line.strip()]
        return f"its log ends: {' / '.join(written[-lines:])}" if written else "and wrote nothing to its log"

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self.close()

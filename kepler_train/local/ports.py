"""Ports that are held before their server starts, so that two stacks never choose the same one."""

from __future__ import annotations

import socket
from contextlib import suppress
from types import TracebackType
from typing import Self

from kepler_train.errors import UserError


class Port:
    """A port held for a server that is about to listen on it.

    The port is bound but not listened on; Linux lets the server bind it too, because both ask for SO_REUSEADDR.
    The abstract unix socket keeps a second holder out, and the kernel frees both when the holder dies.
    """

    def __init__(self, host: str, number: int) -> None:
        self.host = host
        self._bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._bound.bind((host, number))
            self.number: int = self._bound.getsockname()[1]
            self._claim.bind(f"\0kepler-train-port-{self.number}")
        except OSError:
            self.release()
            raise

    @property
    def url(self) -> str:
        """Return the address of an HTTP server on this port."""
        return f"http://{self.host}:{self.number}"

    def release(self) -> None:
        """Give the port back; a server that listens on it keeps it."""
        self._bound.close()
        self._claim.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def take_port(host: str, number: int = 0, prefer: int | None = None) -> Port:
    """Return the port `number`; with 0 the preferred one if nobody has it, else any that is free."""
    if number:
        try:
            return Port(host, number)
        except OSError as error:
            raise UserError(
                f"Port {number} on {host} cannot be used ({error.strerror}): choose another one, or 0 for any."
            ) from error
    if prefer:
        with suppress(OSError):
            return Port(host, prefer)
    for _ in range(20):
        try:
            return Port(host, 0)
        except OSError as error:
            refused = error
    raise UserError(f"No port can be opened on {host} ({refused.strerror}): is it an address of this machine?")

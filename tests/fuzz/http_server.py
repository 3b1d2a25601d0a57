"""A server that sends back bytes as they are, status line and headers included."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from functools import cache

_REQUEST_LINE_AND_HEADERS = b"\r\n\r\n"


class ByteServer:
    """A server in a thread; it answers every request by `answer`, and the connection is closed."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}  # by the last part of the path; "" for any other
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with suppress(OSError), connection:
                connection.settimeout(5)
                path = self._read(connection)
                connection.sendall(self.answers.get(path, self.answers.get("", b"")))
                connection.shutdown(socket.SHUT_WR)

    @staticmethod
    def _read(connection: socket.socket) -> str:
        """Read a request whole, so that closing does not reset the connection; return the last part of its path."""
        request = b""
        while _REQUEST_LINE_AND_HEADERS not in request:
            piece = connection.recv(65536)
            if not piece:
                return ""
            request += piece
        head, _, body = request.partition(_REQUEST_LINE_AND_HEADERS)
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            body += connection.recv(65536)
        return head.split(b" ")[1].decode().partition("?")[0].rpartition("/")[2]


@cache
def server_of_process() -> ByteServer:
    """Return the server of this child, which lives as long as it does."""
    return ByteServer()

"""HTTP for the simulated Prometheus and the simulated exporter: one address, one thread per request."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kepler_train.errors import UserError


@dataclass(frozen=True)
class HttpAnswer:
    """An HTTP answer; `sent` is how many bytes of the body really leave before the connection breaks."""

    body: bytes
    status: int = HTTPStatus.OK
    content_type: str = "application/json"
    sent: int | None = None


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OUR_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)
Handle = Callable[[str, dict[str, list[str]]], HttpAnswer]  # path, parameters


class Server(AbstractContextManager["Server"]):
    """An HTTP server, open as long as its context: `with Server(handle) as server: server.url`."""

    def __init__(self, handle: Handle, host: str = "127.0.0.1", port: int = 0) -> None:
        try:
            self._http = _HttpServer((host, port), _handler(handle, foreign_hosts=host not in _LOOPBACK))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"Cannot listen on {host}:{port}: {reason}. Choose another --port, or 0.") from error
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def wait(self) -> None:
        """Wait until someone interrupts."""
        while self._thread.is_alive():
            self._thread.join(1)


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that hangs up; show the traceback of anything else, which is a bug."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(handle: Handle, foreign_hosts: bool) -> type[BaseHTTPRequestHandler]:
    """Return a handler; without `foreign_hosts` it refuses requests of pages that reach it by DNS rebinding."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body leave together; two small writes would wait for each other

        def do_GET(self) -> None:
            self._answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
            self._answer("&".join(part for part in (urlsplit(self.path).query, form) if part))

        def _answer(self, parameters: str) -> None:
            if foreign_hosts or _OUR_HOST.fullmatch(self.headers.get("Host", "")):
                answer = handle(urlsplit(self.path).path, parse_qs(parameters, keep_blank_values=True))
            else:
                answer = HttpAnswer(b"This server answers to its own address only.", HTTPStatus.FORBIDDEN, "text/plain")
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.sent])
            if answer.sent is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Write nothing: a line per request would hide the ones that matter."""

    return Handler

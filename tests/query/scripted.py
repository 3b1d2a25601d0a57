"""A server that answers by a script and remembers what it was asked: for faults that real servers do not show."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

from kepler_train.query import retry

EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'


@dataclass(frozen=True)
class Request:
    """What arrived."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """What is sent back."""

    body: bytes = EMPTY
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def error(text: str, kind: str = "execution") -> bytes:
    """An error as the API words it."""
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


@dataclass
class Scripted:
    """The server: where it is and what it was asked."""

    url: str
    requests: list[Request]


@contextmanager
def scripted(answer: Callable[[Request], Reply]) -> Iterator[Scripted]:
    """`with scripted(lambda request: Reply(b"…", 429, {"Retry-After": "2"})) as server: …`."""
    asked: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, self.path, dict(self.headers.items()))
            asked.append(request)
            reply = answer(request)
            self.send_response(reply.status)
            for name, value in ({"Content-Type": "application/json"} | reply.headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_GET  # noqa: N815 - the base class names it

        def log_message(self, *_: Any) -> None:
            """Tests read what was asked, not a log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield Scripted(f"http://127.0.0.1:{http.server_address[1]}", asked)
        http.shutdown()


@contextmanager
def attempts_at_once(number: int) -> Iterator[None]:
    """Make so many attempts at a request, without a pause between them."""
    with patch.multiple(retry, ATTEMPTS=number, FIRST_PAUSE=0, JITTER=0):
        yield

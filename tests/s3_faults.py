"""A proxy between S3 clients and the real server that lets requests fail as a network, a gateway or a disk does.

    with S3Faults(server) as proxy:
        set_environment(proxy.client_environment())
        proxy.inject(Fault.WRONG_404, method="GET", key="manifest.json", times=2)
        …
        assert [request.fault for request in proxy.requests] == […]

`proxy.decide` may be any function of a request instead: `lambda request: chance.choice([*Fault, None])`.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import unquote, urlsplit

from kepler_train.local.seaweedfs import SeaweedServer

_OF_A_CONNECTION = {"connection", "keep-alive", "expect", "transfer-encoding", "te", "upgrade", "proxy-connection"}
_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{}</Code><Message>injected</Message></Error>'
_NO_OBJECTS = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>"
)


class Fault(Enum):
    """What happens to a request. Before the bodies, the server never sees it."""

    INTERNAL_500 = auto()
    SLOW_DOWN_503 = auto()
    WRONG_404 = auto()  # NoSuchKey of an object that is there, or that was to be written
    EMPTY_200 = auto()  # without a body and without any header on an object
    EMPTY_LISTING = auto()  # of a listing that has entries; other requests pass
    CLOCK_SKEW_403 = auto()  # the clocks of the server and of this machine differ too much
    EXPIRED_400 = auto()  # the keys are of a session that is over
    DENIED_403 = auto()  # the keys lack the permission for this request
    NO_BUCKET_404 = auto()  # SeaweedFS makes a bucket that is missing, which others do not
    FULL_507 = auto()  # no room for more
    RESET = auto()  # the connection is closed before an answer
    EMPTIED_200 = auto()  # the server's headers with a length of 0, and no body
    CUT_BODY = auto()  # the server's headers and half of the body, then the connection is closed
    CHANGED_BYTE = auto()  # of the body: its check sum is wrong
    CHANGED_ON_THE_WAY = auto()  # a byte of what is sent, so that the server receives something else
    LOST_ANSWER = auto()  # the server does what was asked for, and the connection is closed before its answer


@dataclass
class Request:
    """A request as the proxy saw it: `key` without the bucket, `status` of the answer (0: none)."""

    method: str
    key: str
    listing: bool
    fault: Fault | None = None
    status: int = 0


@dataclass
class _Injection:
    fault: Fault
    method: str
    key: str
    after: int
    times: int
    seen: int = field(default=0)

    def takes(self, request: Request) -> bool:
        if (self.method and request.method != self.method) or self.key not in request.key:
            return False
        self.seen += 1
        return self.after < self.seen <= self.after + self.times


class S3Faults:
    """The proxy, on a port of its own; requests pass unchanged unless a fault is injected."""

    def __init__(self, server: SeaweedServer) -> None:
        self.requests: list[Request] = []
        self.decide: Callable[[Request], Fault | None] = self._injected
        self._injections: list[_Injection] = []
        self._lock = threading.Lock()
        self._server = server
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, urlsplit(server.endpoint).netloc))
        self._proxy.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._proxy.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()

    def client_environment(self) -> dict[str, str]:
        """The variables with which boto3 finds the server through the proxy."""
        port = self._proxy.server_address[1]
        return dict(self._server.client_environment()) | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}

    def inject(self, fault: Fault, *, method: str = "", key: str = "", after: int = 0, times: int = 1) -> None:
        """Let `times` requests fail whose method is this and whose key (or prefix) holds this, `after` so many."""
        self._injections.append(_Injection(fault, method, key, after, times))

    def clear(self) -> None:
        """Forget the requests, and the faults that have not happened yet."""
        with self._lock:
            self.requests.clear()
            self._injections.clear()

    def faults(self) -> list[Fault]:
        """The faults that happened, in their order."""
        return [request.fault for request in self.requests if request.fault]

    def _injected(self, request: Request) -> Fault | None:
        return next((injection.fault for injection in self._injections if injection.takes(request)), None)

    def _note(self, method: str, path: str) -> Request:
        parts = urlsplit(path)
        bucket_and_key = unquote(parts.path).lstrip("/").partition("/")
        listing = "list-type=" in parts.query
        prefix = next((word[7:] for word in parts.query.split("&") if word.startswith("prefix=")), "")
        with self._lock:
            request = Request(method, unquote(prefix) if listing else bucket_and_key[2], listing)
            request.fault = self.decide(request)
            self.requests.append(request)
        return request


def _handler(proxy: S3Faults, upstream: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests read `requests`."""

        def serve(self) -> None:
            body = self._body()
            request = proxy._note(self.command, self.path)
            match request.fault:
                case Fault.INTERNAL_500:
                    self._answer(request, 500, _ERROR.format("InternalError").encode())
                case Fault.SLOW_DOWN_503:
                    self._answer(request, 503, _ERROR.format("SlowDown").encode())
                case Fault.WRONG_404:
                    self._answer(request, 404, _ERROR.format("NoSuchKey").encode())
                case Fault.EMPTY_200:
                    self._answer(request, 200, b"")
                case Fault.EMPTY_LISTING if request.listing:
                    self._answer(request, 200, _NO_OBJECTS.encode())
                case Fault.CLOCK_SKEW_403:
                    self._answer(request, 403, _ERROR.format("RequestTimeTooSkewed").encode())
                case Fault.EXPIRED_400:
                    self._answer(request, 400, _ERROR.format("ExpiredToken").encode())
                case Fault.DENIED_403:
                    self._answer(request, 403, _ERROR.format("AccessDenied").encode())
                case Fault.NO_BUCKET_404:
                    self._answer(request, 404, _ERROR.format("NoSuchBucket").encode())
                case Fault.FULL_507:
                    self._answer(request, 507, _ERROR.format("XMinioStorageFull").encode())
                case Fault.RESET:
                    self._close()
                case _:
                    self._forward(request, body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve  # noqa: N815 - names of BaseHTTPRequestHandler

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            chunks = []
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return b"".join(chunks)

        def _forward(self, request: Request, body: bytes) -> None:
            """Ask the server, and answer as it does but for the fault."""
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_CONNECTION}
            if request.fault is Fault.CHANGED_ON_THE_WAY and body:
                body = body[:-1] + bytes([body[-1] ^ 1])
            server = HTTPConnection(upstream, timeout=60)
            try:
                server.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
                answer = server.getresponse()
                content, kept = answer.read(), _headers_of(answer.getheaders())
            finally:
                server.close()
            fault = request.fault
            length = int(answer.headers.get("Content-Length") or len(content))
            if fault is Fault.LOST_ANSWER:
                return self._close()
            if fault is Fault.EMPTIED_200:
                content, length = b"", 0
            elif fault is Fault.CUT_BODY:
                content = content[: len(content) // 2]
            elif fault is Fault.CHANGED_BYTE and content:
                content = bytes([content[0] ^ 1]) + content[1:]
            self._head(request, answer.status, length, kept)
            self.wfile.write(content)
            if fault is Fault.CUT_BODY:
                self._close()
            return None

        def _answer(self, request: Request, status: int, content: bytes) -> None:
            self._head(request, status, len(content), {})
            if self.command != "HEAD":
                self.wfile.write(content)

        def _head(self, request: Request, status: int, length: int, headers: dict[str, str]) -> None:
            request.status = status
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(length))
            self.end_headers()

        def _close(self) -> None:
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    return Handler


def _headers_of(headers: list[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in headers if name.lower() not in {*_OF_A_CONNECTION, "content-length"}}

"""What a stranger hears at a port, whatever language he tries: HTTP, HTTPS and gRPC, with a certificate of his own."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_HELLO_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # the preface, and empty settings
_SETTINGS = 4
"""The type of the first frame of an HTTP/2 server, sent when it has let a client in."""
_SECONDS = 3.0


def said_at(port: int, paths: Sequence[str], certificate: tuple[Path, Path]) -> bytes:
    """Everything that a port answers to HTTP requests for these paths, in plain text and in TLS."""
    heard = []
    for tls in _disguises(certificate, "http/1.1"):
        for path in paths:
            request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
            heard.append(_ask(port, request.encode(), tls))
    return b"".join(heard)


def takes_grpc(port: int, certificate: tuple[Path, Path]) -> bool:
    """Whether a port lets a stranger in who speaks gRPC, in plain text or in TLS."""
    answers = (_ask(port, _HELLO_HTTP2, tls) for tls in _disguises(certificate, "h2"))
    return any(len(answer) > 3 and answer[3] == _SETTINGS for answer in answers)


def _disguises(certificate: tuple[Path, Path], protocol: str) -> Iterator[ssl.SSLContext | None]:
    yield None
    for shown in ((), (certificate,)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        for files in shown:
            context.load_cert_chain(*files)
        yield context


def _ask(port: int, request: bytes, tls: ssl.SSLContext | None) -> bytes:
    heard = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as plain:
        connection = tls.wrap_socket(plain) if tls else plain
        connection.sendall(request)
        while (more := connection.recv(65536)) and len(heard) < 1_000_000:
            heard += more
            if request is _HELLO_HTTP2:
                break  # it would wait for more
    return heard

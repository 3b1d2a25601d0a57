"""A Prometheus that does not exist: the API behind HTTP, failing as asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from http import HTTPStatus

from kepler_train.errors import UserError
from kepler_train.simulate.faults import SERVER_FAULTS, check_faults
from kepler_train.simulate.promapi import Api, ApiError, Parameters, too_many_samples
from kepler_train.simulate.server import Answer, Server
from kepler_train.simulate.store import Store

SLOW_SECONDS = 2.0
LOGIN_PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


class Faults:
    """Faults of the server: `unavailable` fails every request, `unavailable:2` the first two."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._left: dict[str, float] = {}
        self._lock = threading.Lock()
        for text in texts:
            name, _, times = text.partition(":")
            check_faults([name], SERVER_FAULTS)
            if times and not times.isdigit():
                raise UserError(f"--fault {text!r}: write {name}:3 for the first three requests.")
            self._left[name] = float(times or "inf")

    def strikes(self, name: str) -> bool:
        """Whether this request meets the fault; counts it."""
        with self._lock:
            left = self._left.get(name, 0)
            if left > 0:
                self._left[name] = left - 1
            return left > 0


def prometheus_server(
    store: Store,
    faults: Iterable[str] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    max_samples: int = 50_000_000,
    slow_seconds: float = SLOW_SECONDS,
) -> Server:
    """`with prometheus_server(store, ["unavailable:2"]) as server: requests.get(server.url + "/api/v1/query", …)`."""
    api, striking = Api(store, max_samples), Faults(faults)

    def handle(path: str, given: Parameters) -> Answer:
        if path in ("/-/ready", "/-/healthy"):
            word = "Ready" if path == "/-/ready" else "Healthy"
            return Answer(f"Prometheus Server is {word}.\n".encode(), content_type="text/plain; charset=utf-8")
        if not path.startswith("/api/v1/"):
            return Answer(b"404 page not found\n", HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8")
        if striking.strikes("slow"):
            time.sleep(slow_seconds)
        if striking.strikes("unavailable"):
            return Answer(b"Service Unavailable\n", HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8")
        if striking.strikes("unauthorized"):
            return Answer(b"Unauthorized\n", HTTPStatus.UNAUTHORIZED, "text/plain; charset=utf-8")
        if striking.strikes("html"):
            return Answer(LOGIN_PAGE, content_type="text/html; charset=utf-8")
        try:
            if path.startswith("/api/v1/query") and striking.strikes("too-many-samples"):
                raise too_many_samples()
            body = api.answer(path, given).encode()
        except ApiError as error:
            return Answer(error.body.encode(), error.status)
        if striking.strikes("truncated"):
            return Answer(body, sent=len(body) // 2)
        return Answer(body)

    return Server(handle, host, port)

"""A simulated Prometheus: the API behind HTTP, with faults on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from http import HTTPStatus

from kepler_train.errors import UserError
from kepler_train.simulate.faults import SERVER_FAULTS, check_faults
from kepler_train.simulate.prometheus_api import Api, ApiError, Parameters, too_many_samples
from kepler_train.simulate.server import HttpAnswer, Server
from kepler_train.simulate.store import SampleStore

SLOW_SECONDS = 2.0
LOGIN_PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


class ServerFaults:
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
        """Return whether this request meets the fault, and count it."""
        with self._lock:
            remaining = self._left.get(name, 0)
            if remaining > 0:
                self._left[name] = remaining - 1
            return remaining > 0


def prometheus_server(
    store: SampleStore,
    faults: Iterable[str] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    max_samples: int = 50_000_000,
    slow_seconds: float = SLOW_SECONDS,
) -> Server:
    """Return a server of the API on a store, with faults such as `unavailable:2`; use it in a `with`."""
    api, striking = Api(store, max_samples), ServerFaults(faults)

    def handle(path: str, parameters: Parameters) -> HttpAnswer:
        if path in ("/-/ready", "/-/healthy"):
            word = "Ready" if path == "/-/ready" else "Healthy"
            return HttpAnswer(f"Prometheus Server is {word}.\n".encode(), content_type="text/plain; charset=utf-8")
        if not path.startswith("/api/v1/"):
            return HttpAnswer(b"404 page not found\n", HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8")
        if striking.strikes("slow"):
            time.sleep(slow_seconds)
        if striking.strikes("unavailable"):
            return HttpAnswer(b"Service Unavailable\n", HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8")
        if striking.strikes("unauthorized"):
            return HttpAnswer(b"Unauthorized\n", HTTPStatus.UNAUTHORIZED, "text/plain; charset=utf-8")
        if striking.strikes("html"):
            return HttpAnswer(LOGIN_PAGE, content_type="text/html; charset=utf-8")
        try:
            if path.startswith("/api/v1/query") and striking.strikes("too-many-samples"):
                raise too_many_samples()
            body = api.answer(path, parameters).encode()
        except ApiError as error:
            return HttpAnswer(error.body.encode(), error.status)
        if striking.strikes("truncated"):
            return HttpAnswer(body, sent=len(body) // 2)
        return HttpAnswer(body)

    return Server(handle, host, port)

"""A guard in front of Airflow's API server: it answers what is addressed to it, and asked by its own pages.

A page of another site reaches a server of this machine under a name of its own (DNS rebinding), and one of another port
shares its cookies. Programs such as tasks and curl send no `Origin` and are let through to the login.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

# Its pages may frame each other, as pages of plugins are shown; nobody else's page may put them under its own.
_NOT_FRAMED = (b"content-security-policy", b"frame-ancestors 'self'")


class Guard:
    """ASGI middleware that refuses requests with a foreign `Host` or `Origin`."""

    def __init__(self, app: App, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = {host.encode("ascii") for host in hosts}
        self._refusal = f"This Airflow answers to {', '.join(sorted(hosts))} only, and to pages of its own.\n".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self._allows(scope["headers"]):
            await self._refuse(scope, send)
        else:
            await self._app(scope, receive, _with_header(send))

    def _allows(self, headers: Collection[tuple[bytes, bytes]]) -> bool:
        hosts = [value.lower() for name, value in headers if name == b"host"]
        origins = {value.lower() for name, value in headers if name == b"origin"}
        return len(hosts) == 1 and hosts[0] in self._hosts and origins <= {b"http://" + hosts[0]}

    async def _refuse(self, scope: Message, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(self._refusal)).encode())]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": self._refusal})


def _with_header(send: Send) -> Send:
    async def send_with_header(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), _NOT_FRAMED]
        await send(message)

    return send_with_header

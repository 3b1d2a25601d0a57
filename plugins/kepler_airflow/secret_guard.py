"""A guard in front of Airflow's API: parameters with a password in them are refused before Airflow writes them down.

Airflow checks the parameters of a run by their schema, but its audit log keeps the whole request, refused or not.
"""

from __future__ import annotations

import json
from typing import Any

from kepler_airflow.guard import App, Message, Receive, Send
from kepler_train import strict_json
from kepler_train.spec import secret_problem

_CONFIGURED = {"/dagRuns": "conf", "/backfills": "dag_run_conf", "/backfills/dry_run": "dag_run_conf"}
"""Where runs are asked for, and the part of the request that holds their parameters."""
_LARGEST = 1 << 20  # bytes; parameters of a run are a few thousand


class SecretGuard:
    """ASGI middleware that refuses requests for runs whose parameters hold credentials."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        part = _part(scope)
        if not part:
            await self._app(scope, receive, send)
            return
        messages, body = await _read(receive)
        problem = _problem(body, part)
        if problem:
            await _refuse(send, problem)
        else:
            await self._app(scope, _replay(messages, receive), send)


def _part(scope: Message) -> str:
    if scope["type"] != "http" or scope["method"] != "POST":
        return ""
    return next((part for end, part in _CONFIGURED.items() if scope["path"].rstrip("/").endswith(end)), "")


async def _read(receive: Receive) -> tuple[list[Message], bytes]:
    """Return the messages of a request and its body; a body that is too large for parameters is left to Airflow."""
    messages, body = [], b""
    while True:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if not message.get("more_body") or len(body) > _LARGEST:
            return messages, body


def _problem(body: bytes, part: str) -> str:
    """Return why parameters are refused; nothing where it is for Airflow to say what is wrong with a request."""
    if len(body) > _LARGEST:
        return f"The request has more than {_LARGEST >> 20} MiB: parameters of a run are smaller"
    try:
        parameters = strict_json.parse(body)[part]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return secret_problem(parameters) if isinstance(parameters, dict) else ""


def _replay(messages: list[Message], receive: Receive) -> Receive:
    left = list(messages)

    async def again() -> Message:
        return left.pop(0) if left else await receive()

    return again


async def _refuse(send: Send, problem: str) -> None:
    content: dict[str, Any] = {"detail": f"{problem}."}
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})

"""The pages, imported with the first request: every process of Airflow imports its plugins, and few show pages."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kepler_airflow.guard import App, Message, Receive, Send

PREFIX = "/kepler-models"
_log = logging.getLogger(__name__)
_CLOSED = b"The pages of models are closed: they cannot ask Airflow who may see them. The API server's log says why.\n"


class ModelsPages:
    """An ASGI app that is closed where Airflow's own check of permissions cannot be imported."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await (_pages() or _refuse)(scope, receive, send)


@cache
def _pages() -> App | None:
    try:
        from kepler_airflow.models_page.app import app
    except ImportError:
        _log.exception("The pages of models stay closed.")
        return None
    return app


async def _refuse(scope: Message, receive: Receive, send: Send) -> None:  # noqa: ARG001
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(_CLOSED)).encode())]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": _CLOSED})

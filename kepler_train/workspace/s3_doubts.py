"""Answers of S3 that are asked for again before they are believed.

A gateway that is restarted, a replica that lags and a cache between may say for a moment that something does not exist,
or answer 200 with nothing. What follows from that is decided once and lasts: a model is left out, a list is written
anew over that of somebody else, a run does without the profile of its machine. So it takes three such answers in half a
second. Who only looks whether work can be saved believes the first (`believing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kepler_train.errors import TryAgain

_WAITS = (0.1, 0.4)  # s, before the second and the third try
# What a true answer has, also one on an empty object or folder.
_ALWAYS_THERE = {
    "GetObject": "ETag",
    "HeadObject": "ETag",
    "PutObject": "ETag",
    "UploadPart": "ETag",
    "CreateMultipartUpload": "UploadId",
    "CompleteMultipartUpload": "ETag",
    "ListObjectsV2": "IsTruncated",
}
_COUNT = "kepler_train_doubts"

_believes: ContextVar[bool] = ContextVar("believes", default=False)


@contextmanager
def believing(believe: bool = True) -> Iterator[None]:
    """Believe at once that something does not exist, where little depends on it."""
    token = _believes.set(believe)
    try:
        yield
    finally:
        _believes.reset(token)


def doubt(client: Any, uri: str) -> None:
    """Let a client of boto3 ask again where an answer is doubtful, also inside of uploads and downloads."""

    def seconds_to_wait(
        response: tuple[Any, dict[str, Any]] | None, operation: Any, request_dict: dict[str, Any], **_: Any
    ) -> float | None:
        """Return the time to wait before the request is sent again; None where the answer is taken as it is."""
        if response is None:
            return None
        http, answer = response
        nothing = _is_no_answer(http, answer, operation.name)
        if not nothing and (_believes.get() or not _says_nothing_there(http, answer, operation.name)):
            return None
        context = request_dict["context"]
        tried = context.get(_COUNT, 0)
        if tried < len(_WAITS):
            context[_COUNT] = tried + 1
            return _WAITS[tried]
        if nothing:
            raise TryAgain(f"{uri} answered {operation.name} with nothing, {tried + 1} times.")
        return None

    client.meta.events.register("needs-retry.s3", seconds_to_wait)


def _is_no_answer(http: Any, answer: dict[str, Any], operation: str) -> bool:
    return http.status_code < 300 and operation in _ALWAYS_THERE and _ALWAYS_THERE[operation] not in answer


def _says_nothing_there(http: Any, answer: dict[str, Any], operation: str) -> bool:
    """Return whether an answer is that there is no such object, an empty one, or none below a prefix.

    Few objects are empty, and a page of a listing that others preceded never is.
    """
    if operation == "ListObjectsV2" and http.status_code == 200:
        return not answer.get("Contents") and not answer.get("CommonPrefixes")
    return http.status_code == 404 or (operation == "GetObject" and http.headers.get("Content-Length") == "0")

"""What it means when a server does not answer with data: who has to act, and the sentence for them."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import requests

from kepler_train.errors import KeplerTrainError, TryAgain, UserError

# A server may ask for a longer pause than a person or a task should sit through; the caller's caller tries again.
LONGEST_PAUSE = 120.0  # s

# How Prometheus, Thanos, Mimir or Cortex, VictoriaMetrics and gRPC below them say that a query is too large.
_TOO_LARGE = re.compile(
    r"too many samples|maximum resolution of|too many points"
    r"|exceeded (chunks|series|samples|bytes) limit|limit \d+ violated"
    r"|err-mimir-max-|query (exceeded|hit) the (max|aggregated)|time range exceeds the limit"
    r"|cannot select more than|-search\.max(samples|points|unique|series|response|memory|timeseries)"
    r"|matching (timeseries|time series|series) exceeds|not enough memory for processing"
    r"|(message|response|answer) (is )?(too large|larger than)",
    re.IGNORECASE,
)
_TOO_SLOW = re.compile(r"timed? ?out|deadline exceeded|maxQueryDuration", re.IGNORECASE)
_NO_TENANT = re.compile(r"no org id|org ?id (header )?is (missing|required)|tenant.*(missing|required)", re.IGNORECASE)
_HUNG_UP = (ssl.SSLEOFError, ConnectionResetError, BrokenPipeError)


class TooMuchAtOnce(KeplerTrainError):
    """The server refuses an answer of this size; half the time span may pass."""

    exit_code = 2


class TooSlow(TryAgain):
    """No answer in time; half the time span may have one."""


class Busy(TryAgain):
    """The server asks for a pause (s)."""

    def __init__(self, text: str, pause: float | None = None) -> None:
        super().__init__(text)
        self.pause = pause


def refusal(url: str, answer: requests.Response, body: bytes) -> KeplerTrainError:
    """The error that an answer without data stands for."""
    status, said = answer.status_code, _said(answer, body)
    if answer.is_redirect:
        return _moved(url, answer)
    if status in (400, 401, 403) and _NO_TENANT.search(said):
        return UserError(
            f"Prometheus at {url} does not know whose data are meant ({said}): set PROMETHEUS_HEADERS,"
            " as 'X-Scope-OrgID: team'."
        )
    if status in (401, 403):
        return UserError(
            f"Prometheus at {url} refused access ({status}): set PROMETHEUS_TOKEN_FILE,"
            " or PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD."
        )
    if status in (413, 422) or (status != 429 and _TOO_LARGE.search(said)):
        return TooMuchAtOnce(f"Prometheus at {url} refuses the query: {said}.")
    if status in (408, 504) or (status >= 500 and _TOO_SLOW.search(said)):
        return TooSlow(f"Prometheus at {url} answered {status}: {said}.")
    if status == 429 or status >= 500:
        return _busy(f"Prometheus at {url} answered {status}: {said}", answer.headers.get("Retry-After", ""))
    if "HTTP request to an HTTPS server" in said:
        return UserError(f"Prometheus at {url} speaks TLS: write {re.sub('^http:', 'https:', url)}.")
    if "json" not in answer.headers.get("Content-Type", ""):
        return UserError(f"{url} answered {status} with a page, not with JSON: is it the address of Prometheus?")
    return UserError(f"Prometheus at {url} answered {status}: {said}.")


def _moved(url: str, answer: requests.Response) -> UserError:
    """A redirect is not followed: a token would go to an address that nobody named."""
    asked, to = urlsplit(str(answer.url)), urlsplit(answer.headers["Location"])
    scheme, host = to.scheme or asked.scheme, to.netloc.rpartition("@")[2] or asked.netloc
    base, api, _ = to.path.partition("/api/v1/")
    if api:
        return UserError(f"Prometheus at {url} has moved to {scheme}://{host}{base}: give that address.")
    return UserError(
        f"{url} sends requests on to {scheme}://{host}{to.path}, which is not Prometheus' API: if that is a login,"
        " set PROMETHEUS_TOKEN_FILE, or PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD."
    )


def _busy(text: str, retry_after: str) -> Busy:
    pause = pause_of(retry_after, datetime.now(UTC))
    if pause is not None and pause > LONGEST_PAUSE:
        text += f"; it asks to come back in {pause:.0f} s"
    return Busy(f"{text}.", pause)


def pause_of(retry_after: str, now: datetime) -> float | None:
    """The pause (s) that a Retry-After header asks for, as seconds or as a date; None when it says nothing."""
    if re.fullmatch(r"\d{1,9}", retry_after.strip()):
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # RFC 9110 dates are GMT; one that says "-0000" comes without a zone.
    return max(((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds(), 0.0)


def no_answer(url: str, error: requests.RequestException, connect: float, read: float) -> KeplerTrainError:
    """The error for a request that got no whole answer within `connect` and `read` seconds."""
    if isinstance(error, requests.ConnectTimeout):
        return TryAgain(f"Prometheus at {url} cannot be reached within {connect:g} s.")
    if isinstance(error, requests.Timeout) or "Read timed out" in str(error):
        return TooSlow(f"Prometheus at {url} did not answer within {read:g} s.")
    if isinstance(error, (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError)):
        return broken_off(url)
    if isinstance(error, requests.exceptions.ProxyError):
        return TryAgain(f"Prometheus at {url} cannot be reached through the proxy of the environment (HTTPS_PROXY).")
    if (trouble := _tls_trouble(url, error)) is not None:
        return trouble
    if isinstance(error, requests.ConnectionError):
        return TryAgain(f"Prometheus at {url} cannot be reached: {_reason(error)}.")
    return UserError(f"{url} is not an address that can be asked: {error}.")


def broken_off(url: str) -> TryAgain:
    """The error for an answer that ends too early."""
    return TryAgain(f"Prometheus at {url} sent an answer that breaks off.")


def _tls_trouble(url: str, error: BaseException) -> KeplerTrainError | None:
    causes = list(_causes(error))
    # A server that misses our certificate says so, but hangs up before we have read it.
    if url.startswith("https:") and any(isinstance(one, _HUNG_UP) for one in causes):
        return TryAgain(
            f"{url} closed the TLS connection: if it asks for a certificate of ours,"
            " set PROMETHEUS_CERT_FILE and PROMETHEUS_KEY_FILE."
        )
    cause = next((one for one in causes if isinstance(one, ssl.SSLError)), None)
    if cause is None:
        return None
    if isinstance(cause, ssl.SSLCertVerificationError):
        if "mismatch" in cause.verify_message or "not valid for" in cause.verify_message:
            return UserError(f"The certificate of {url} is of another host: {cause.verify_message.rstrip('.')}.")
        return UserError(
            f"The certificate of {url} is not trusted ({cause.verify_message}): name the file of its authority"
            " with PROMETHEUS_CA_FILE."
        )
    reason = cause.reason or str(cause)
    if "WRONG_VERSION_NUMBER" in reason or "RECORD_LAYER" in reason:
        return UserError(f"{url} does not speak TLS: write {re.sub('^https:', 'http:', url)}.")
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason or "BAD_CERTIFICATE" in reason:
        return UserError(
            f"{url} wants a certificate of ours ({reason.lower().replace('_', ' ')}):"
            " set PROMETHEUS_CERT_FILE and PROMETHEUS_KEY_FILE."
        )
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was made of, however they were wrapped."""
    seen: list[BaseException] = []
    waiting: list[Any] = [error]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            yield one
            waiting += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]


def _reason(error: requests.ConnectionError) -> str:
    """The part of a connection error that a person needs."""
    said = str(error)
    for words in ("Connection refused", "Name or service not known", "No route to host", "Network is unreachable"):
        if words in said:
            return words.lower()
    if any(words in said for words in ("IncompleteRead", "Connection broken", "RemoteDisconnected", "reset by peer")):
        return "the answer broke off"
    return said


def _said(answer: requests.Response, body: bytes) -> str:
    """What the server says of it, without its final stop."""
    text = ""
    if "json" in answer.headers.get("Content-Type", ""):
        try:
            content = json.loads(body)
            text = str(content.get("error") or "") if isinstance(content, dict) else ""
        except ValueError:
            text = ""
    text = text or body[:1000].decode("utf-8", "replace")
    return " ".join(text.split())[:300].rstrip(".") or "an empty page"

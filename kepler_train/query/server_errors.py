"""Errors of a server: what an answer without data means, who has to act, and the sentence for them."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import requests

from kepler_train import strict_json
from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.query.retry import LONGEST_REQUESTED_PAUSE, Busy
from kepler_train.strict_json import shown

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
_LONGEST_PAGE = 1 << 16  # bytes of a page in which its reason is looked for
_MOST_SHOWN = 300  # characters
_HUNG_UP = (ssl.SSLEOFError, ConnectionResetError, BrokenPipeError)


class TooMuchAtOnce(KeplerTrainError):
    """The refusal of an answer of this size; half the time span may pass."""

    exit_code = 2


class TooSlow(TryAgain):
    """An answer that did not come in time; half the time span may have one."""


def error_of_answer(
    url: str, answer: requests.Response, body: bytes, without_secrets: Callable[[str], str]
) -> KeplerTrainError:
    """Return the error that an answer without data stands for; it may repeat our secrets."""
    status, explanation = answer.status_code, _explanation(answer, body, without_secrets)
    if answer.is_redirect:
        return _moved(url, answer)
    if status in (400, 401, 403) and _NO_TENANT.search(explanation):
        return UserError(
            f"Prometheus at {url} does not know whose data are meant ({explanation}): set PROMETHEUS_HEADERS,"
            " as 'X-Scope-OrgID: team'."
        )
    if status in (401, 403):
        return UserError(
            f"Prometheus at {url} refused access ({status}): set PROMETHEUS_TOKEN_FILE,"
            " or PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD."
        )
    if status in (413, 422) or (status != 429 and _TOO_LARGE.search(explanation)):
        return TooMuchAtOnce(f"Prometheus at {url} refuses the query: {explanation}.")
    if status in (408, 504) or (status >= 500 and _TOO_SLOW.search(explanation)):
        return TooSlow(f"Prometheus at {url} answered {status}: {explanation}.")
    if status == 429 or status >= 500:
        return _busy(f"Prometheus at {url} answered {status}: {explanation}", answer.headers.get("Retry-After", ""))
    if "HTTP request to an HTTPS server" in explanation:
        return UserError(f"Prometheus at {url} speaks TLS: write {re.sub('^http:', 'https:', url)}.")
    if "json" not in answer.headers.get("Content-Type", ""):
        return UserError(f"{url} answered {status} with a page, not with JSON: is it the address of Prometheus?")
    return UserError(f"Prometheus at {url} answered {status}: {explanation}.")


def _moved(url: str, answer: requests.Response) -> UserError:
    """Return the error for a redirect, which is not followed: a token would go to an address that nobody named."""
    location = answer.headers["Location"]
    try:
        request, target = urlsplit(str(answer.url)), urlsplit(location)
    except ValueError:
        return UserError(
            f"{url} sends requests on to {shown(location)}, which is no address: is it the address of Prometheus?"
        )
    scheme, host = target.scheme or request.scheme, target.netloc.rpartition("@")[2] or request.netloc
    base, api, _ = target.path.partition("/api/v1/")
    place = _brief(f"{scheme}://{host}{base}")
    own_base = request.path.partition("/api/v1/")[0]
    if api and _same_place((scheme, host, base), (request.scheme, request.netloc.rpartition("@")[2], own_base)):
        return UserError(
            f"Prometheus at {url} sends requests on to itself, in a loop ({answer.status_code} to"
            f" {shown(target.path)}): check the proxy before it, and the address."
        )
    if api:
        return UserError(f"Prometheus at {url} has moved to {place}: give that address.")
    return UserError(
        f"{url} sends requests on to {place}, which is not Prometheus' API: if that is a login,"
        " set PROMETHEUS_TOKEN_FILE, or PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD."
    )


def _same_place(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    """Return whether scheme, host and path lead to one server, written in whichever way."""

    def plain(scheme: str, host: str, path: str) -> tuple[str, str, str]:
        port = {"http": ":80", "https": ":443"}.get(scheme.lower(), "")
        return scheme.lower(), host.lower().removesuffix(port), path.rstrip("/")

    return plain(*one) == plain(*other)


def _busy(text: str, retry_after: str) -> Busy:
    pause = requested_pause(retry_after, datetime.now(UTC))
    if pause is not None and pause > LONGEST_REQUESTED_PAUSE:
        text += f"; it asks to come back in {pause:.0f} s"
    return Busy(f"{text}.", pause)


def requested_pause(retry_after: str, now: datetime) -> float | None:
    """Return the pause (s) that a Retry-After header asks for, as seconds or as a date; None without one."""
    if re.fullmatch(r"\d{1,9}", retry_after.strip()):
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # RFC 9110 dates are GMT; one that says "-0000" comes without a zone.
    return max(((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds(), 0.0)


def no_answer(url: str, error: requests.RequestException, connect: float, read: float) -> KeplerTrainError:
    """Return the error for a request without a whole answer within `connect` and `read` seconds."""
    if isinstance(error, requests.ConnectTimeout):
        return TryAgain(f"Prometheus at {url} cannot be reached within {connect:g} s.")
    if isinstance(error, requests.Timeout) or "Read timed out" in str(error):
        return TooSlow(f"Prometheus at {url} did not answer within {read:g} s.")
    if isinstance(error, (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError)):
        return truncated_answer(url)
    if isinstance(error, requests.exceptions.ProxyError):
        return TryAgain(f"Prometheus at {url} cannot be reached through the proxy of the environment (HTTPS_PROXY).")
    if (trouble := _tls_trouble(url, error)) is not None:
        return trouble
    if isinstance(error, requests.ConnectionError):
        return TryAgain(f"Prometheus at {url} cannot be reached: {_reason(error)}.")
    return UserError(f"{url} is not an address that can be asked: {error}.")


def truncated_answer(url: str) -> TryAgain:
    """Return the error for an answer that ends too early."""
    return TryAgain(f"Prometheus at {url} sent an answer that breaks off.")


def _tls_trouble(url: str, error: BaseException) -> KeplerTrainError | None:
    causes = list(_causes(error))
    # A server that misses our certificate says so, but hangs up before we have read it.
    if url.startswith("https:") and any(isinstance(cause, _HUNG_UP) for cause in causes):
        return TryAgain(
            f"{url} closed the TLS connection: if it asks for a certificate of ours,"
            " set PROMETHEUS_CERT_FILE and PROMETHEUS_KEY_FILE."
        )
    cause = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
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
    """Yield an error and those that it was made of, however they were wrapped."""
    seen: list[BaseException] = []
    queue: list[Any] = [error]
    while queue:
        cause = queue.pop(0)
        if isinstance(cause, BaseException) and cause not in seen:
            seen.append(cause)
            yield cause
            queue += [*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__]


def _reason(error: requests.ConnectionError) -> str:
    """Return the part of a connection error that a person needs."""
    text = str(error)
    for words in ("Connection refused", "Name or service not known", "No route to host", "Network is unreachable"):
        if words in text:
            return words.lower()
    if any(words in text for words in ("IncompleteRead", "Connection broken", "RemoteDisconnected", "reset by peer")):
        return "the answer broke off"
    return text


def _explanation(answer: requests.Response, body: bytes, without_secrets: Callable[[str], str]) -> str:
    """Return the reason that the server gives, without its final stop."""
    text = ""
    if "json" in answer.headers.get("Content-Type", ""):
        try:
            content = strict_json.parse(body)
            text = str(content.get("error") or "") if isinstance(content, dict) else ""
        except strict_json.NotStrict:
            text = ""
    # Secrets go first: of one that is cut in two, a part would stay.
    text = without_secrets(text or body[:_LONGEST_PAGE].decode("utf-8", "replace"))
    return _brief(" ".join(text.split())).rstrip(".") or "an empty page"


def _brief(text: str) -> str:
    """Return as much of a server's text as a sentence can hold."""
    return text[:_MOST_SHOWN]

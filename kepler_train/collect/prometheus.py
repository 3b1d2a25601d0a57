"""The Prometheus HTTP API: two calls, and a sentence for everything that goes wrong with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
import stamina
from stamina.instrumentation import RetryDetails

from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.events import warn

Labels = dict[str, str]

_TIMEOUT = (10, 120)  # connect, read (s)
_ATTEMPTS = 4


class TooMuchAtOnce(KeplerTrainError):
    """The server refuses an answer of this size; half the time span may pass."""

    exit_code = 2


def _announce(details: RetryDetails) -> None:
    warn(f"{details.caused_by} Trying again in {details.wait_for:.1f} s.")


stamina.instrumentation.set_on_retry_hooks([_announce])


class Prometheus:
    """A server that speaks the Prometheus HTTP API: Prometheus, Thanos, Mimir, VictoriaMetrics."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._session = requests.Session()
        self._session.headers.update(_authorization())
        self._auth = _basic_auth()

    def series(self, selector: str, start: float, end: float) -> list[Labels]:
        """The labels of every series of `selector` with samples in the window (Unix s)."""
        found = self._call("series", {"match[]": selector, "start": f"{start:.3f}", "end": f"{end:.3f}"})
        if not isinstance(found, list):
            raise UserError(f"{self.url} answered something else than series: is it the address of Prometheus?")
        return found

    def instant(self, query: str, time: float) -> list[tuple[Labels, float]]:
        """Labels and value of everything that `query` answers at `time` (Unix s)."""
        data = self._call("query", {"query": query, "time": f"{time:.3f}"})
        if not isinstance(data, dict) or data.get("resultType") != "vector":
            raise UserError(f"{self.url} answered something else than values: is it the address of Prometheus?")
        return [(entry["metric"], float(entry["value"][1])) for entry in data["result"]]

    def raw(self, selector: str, start: float, end: float) -> list[dict[str, Any]]:
        """Every sample of `selector` in [start, end] (Unix s) as it was scraped, by series.

        An instant query over a range selector answers raw samples. Prometheus 2 includes the left edge of a range
        and Prometheus 3 does not, so one millisecond more is asked for and the caller cuts at its own edges.
        """
        milliseconds = round((end - start) * 1000) + 1
        data = self._call("query", {"query": f"{selector}[{milliseconds}ms]", "time": f"{end:.3f}"})
        if not isinstance(data, dict) or not isinstance(data.get("result"), list):
            raise UserError(f"{self.url} answered something else than samples: is it the address of Prometheus?")
        result: list[dict[str, Any]] = data["result"]
        return result

    def _call(self, path: str, parameters: Mapping[str, str]) -> Any:
        for attempt in stamina.retry_context(
            on=TryAgain, attempts=_ATTEMPTS, timeout=120, wait_initial=0.5, wait_max=10
        ):
            with attempt:
                return self._once(path, parameters)
        raise AssertionError("unreachable: the last attempt raises")

    def _once(self, path: str, parameters: Mapping[str, str]) -> Any:
        try:
            # POST: selectors of many nodes outgrow what servers take as an address.
            answer = self._session.post(
                f"{self.url}/api/v1/{path}", data=parameters, timeout=_TIMEOUT, auth=self._auth, allow_redirects=False
            )
        except requests.ConnectTimeout:
            raise TryAgain(f"Prometheus at {self.url} cannot be reached within {_TIMEOUT[0]} s.") from None
        except requests.Timeout:
            raise TryAgain(f"Prometheus at {self.url} did not answer within {_TIMEOUT[1]} s.") from None
        except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
            raise TryAgain(f"Prometheus at {self.url} sent an answer that breaks off.") from None
        except requests.ConnectionError as error:
            raise TryAgain(f"Prometheus at {self.url} cannot be reached: {_reason(error)}.") from None
        except requests.RequestException as error:
            raise UserError(f"{self.url} is not an address that can be asked: {error}.") from None
        return self._data(answer)

    def _data(self, answer: requests.Response) -> Any:
        status = answer.status_code
        if status in (401, 403):
            raise UserError(
                f"Prometheus at {self.url} refused access ({status}): set PROMETHEUS_TOKEN_FILE,"
                " or PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD."
            )
        if status == 429 or status >= 500:
            raise TryAgain(f"Prometheus at {self.url} answered {status}: {_excerpt(answer)}.")
        try:
            body = answer.json()
        except requests.JSONDecodeError:
            if "json" in answer.headers.get("Content-Type", ""):
                raise TryAgain(f"Prometheus at {self.url} sent an answer that breaks off.") from None
            raise UserError(
                f"{self.url} answered {status} with a page, not with JSON: is it the address of Prometheus?"
            ) from None
        if not isinstance(body, dict) or body.get("status") != "success":
            said = body.get("error") if isinstance(body, dict) else _excerpt(answer)
            if status == 422:
                raise TooMuchAtOnce(f"Prometheus at {self.url} refuses the query: {said}.")
            raise UserError(f"Prometheus at {self.url} answered {status}: {said}.")
        for warning in body.get("warnings") or []:
            warn(f"Prometheus at {self.url} warns: {warning}")
        return body.get("data")


def _authorization() -> dict[str, str]:
    """A bearer token from the file that PROMETHEUS_TOKEN_FILE names."""
    file = os.environ.get("PROMETHEUS_TOKEN_FILE")
    if not file:
        return {}
    try:
        return {"Authorization": f"Bearer {Path(file).read_text(encoding='utf-8').strip()}"}
    except OSError as error:
        raise UserError(f"The token file {file} (PROMETHEUS_TOKEN_FILE) cannot be read: {error.strerror}.") from None


def _basic_auth() -> tuple[str, str] | None:
    user = os.environ.get("PROMETHEUS_USERNAME")
    return (user, os.environ.get("PROMETHEUS_PASSWORD", "")) if user else None


def _reason(error: requests.ConnectionError) -> str:
    """The part of a connection error that a person needs."""
    said = str(error)
    for words in ("Connection refused", "Name or service not known", "No route to host", "Network is unreachable"):
        if words in said:
            return words.lower()
    if "IncompleteRead" in said or "Connection broken" in said or "RemoteDisconnected" in said:
        return "the answer broke off"
    return said


def _excerpt(answer: requests.Response) -> str:
    return " ".join(answer.text[:200].split()) or "an empty page"

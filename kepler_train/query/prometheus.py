"""The Prometheus HTTP API: `/series`, `/query` and `/query_range`, which every server of its kind answers."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests

from kepler_train.errors import DataError, UserError
from kepler_train.events import warn
from kepler_train.query.credentials import credentials_for
from kepler_train.query.retry import Busy, attempts
from kepler_train.query.server_errors import TooMuchAtOnce, TooSlow, error_of_answer, no_answer, truncated_answer
from kepler_train.samples import strict_json
from kepler_train.samples.decoding import Answer, decode_answer, labels_of, number_of
from kepler_train.samples.labels import Labels

T = TypeVar("T")

LARGEST_ANSWER = 1 << 30  # bytes
_CONNECT, _READ, _WHOLE = 10.0, 120.0, 600.0  # until connected, until the next bytes, until all of them (s)
_PIECE = 1 << 20  # bytes read at a time
_SUCCESS = b'{"status":"success"'


@dataclass
class Traffic:
    """Counts of requests, retries and bytes of unpacked answers."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, requests: int = 0, retries: int = 0, received: int = 0) -> None:
        """Count requests, retries and received bytes, from any thread."""
        with self._lock:
            self.requests += requests
            self.retries += retries
            self.bytes += received


class Prometheus:
    """A server that speaks the Prometheus HTTP API: Prometheus, Thanos, Mimir, VictoriaMetrics.

    It gets the credentials of the environment if the installation trusts it, or if its address was `typed` as an
    option of a command.
    """

    def __init__(self, url: str, *, typed: bool = False) -> None:
        self.url = url.rstrip("/")
        self.traffic = Traffic()
        self._credentials = credentials_for(self.url, typed=typed)
        self._session = _Session()
        if _is_this_machine(self.url):
            # Packing costs more time than it saves where nothing leaves the machine.
            self._session.headers["Accept-Encoding"] = "identity"
        # POST: selectors of many nodes outgrow what servers take as an address.
        self._method = "POST"
        self._warned: set[str] = set()

    def series(self, selector: str, start: float, end: float) -> list[Labels]:
        """Return the labels of every series of `selector` with samples in the window (Unix s)."""
        series = self._data("series", {"match[]": selector, "start": f"{start:.3f}", "end": f"{end:.3f}"})
        if not isinstance(series, list):
            raise UserError(f"{self.url} answered something else than series: is it the address of Prometheus?")
        with self._understood():
            return list(map(labels_of, series))

    def instant(self, query: str, time: float) -> list[tuple[Labels, float]]:
        """Return labels and value of everything that `query` answers at `time` (Unix s)."""
        data = self._data("query", {"query": query, "time": f"{time:.3f}"})
        try:
            with self._understood():
                return [(labels_of(entry["metric"]), number_of(entry["value"][1])) for entry in data["result"]]
        except (KeyError, IndexError, TypeError, ValueError, OverflowError):
            raise UserError(
                f"{self.url} answered something else than values: is it the address of Prometheus?"
            ) from None

    def raw(self, selector: str, start: float, end: float, most: int = LARGEST_ANSWER) -> Answer:
        """Return every sample of `selector` in [start, end] (Unix s); raise TooMuchAtOnce beyond `most` bytes.

        An instant query over a range selector answers raw samples. Prometheus 2 includes the left edge of a range
        and Prometheus 3 does not, so one millisecond more is asked for and the caller cuts at its own edges.
        """
        milliseconds = round((end - start) * 1000) + 1
        return self._samples("query", {"query": f"{selector}[{milliseconds}ms]", "time": f"{end:.3f}"}, most)

    def resampled(self, selector: str, start: float, end: float, step: float, most: int = LARGEST_ANSWER) -> Answer:
        """Return the last value of each series at start, start + step, … ≤ end, within the look-back."""
        window = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return self._samples("query_range", {"query": selector, **window}, most)

    def _samples(self, path: str, parameters: Mapping[str, str], most: int) -> Answer:
        with self._understood():
            answer = self._call(path, parameters, decode_answer, most)
        self._pass_on(answer.warnings)
        return answer

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Name the server in the sentence about an answer that is not one of Prometheus."""
        try:
            yield
        except DataError as error:
            raise DataError(f"Prometheus at {self.url} cannot be understood. {error}") from None

    def _data(self, path: str, parameters: Mapping[str, str]) -> Any:
        with self._understood():
            content = self._call(path, parameters, strict_json.loads, LARGEST_ANSWER)
        self._pass_on(content.get("warnings"))
        return content.get("data")

    def _pass_on(self, warnings: Any) -> None:
        """Print each warning of the server once, not with each of a thousand answers."""
        for warning in map(self._credentials.without_secrets, map(str, warnings if isinstance(warnings, list) else [])):
            if warning not in self._warned:
                self._warned.add(warning)
                warn(f"Prometheus at {self.url} warns: {warning}")

    def _call(self, path: str, parameters: Mapping[str, str], read: Callable[[bytes], T], most: int) -> T:
        for attempt in attempts():
            with attempt:
                self.traffic.add(requests=1, retries=attempt.retry_state.attempt_number > 1)
                with self._credentials.kept_out_of_errors():
                    return self._once(path, parameters, read, most)
        raise AssertionError("unreachable: the last attempt raises")

    def _once(self, path: str, parameters: Mapping[str, str], read: Callable[[bytes], T], most: int) -> T:
        where = "data" if self._method == "POST" else "params"
        try:
            with self._session.request(
                self._method,
                f"{self.url}/api/v1/{path}",
                **{where: parameters},  # type: ignore[arg-type]
                timeout=(_CONNECT, _READ),
                auth=self._credentials.authorize,
                verify=self._credentials.authority,
                cert=self._credentials.certificate,
                allow_redirects=False,
                stream=True,
            ) as answer:
                body = self._body(answer, most)
        except requests.RequestException as error:
            raise no_answer(self.url, error, _CONNECT, _READ) from None
        if answer.status_code in (403, 405) and self._method == "POST":
            self._method = "GET"  # proxies that let people only read take POST for writing
            return self._once(path, parameters, read, most)
        if answer.status_code == 401 and self._credentials.changed_since(answer.request):
            raise Busy(f"Prometheus at {self.url} refused a token that was just replaced.", pause=0.0)
        return self._read(answer, body, read)

    def _body(self, answer: requests.Response, most: int) -> bytes:
        """Return the bytes of an answer; raise when they are too many or too slow."""
        pieces, size, began = [], 0, time.monotonic()
        for piece in _pieces(answer, self.url):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise TooMuchAtOnce(f"Prometheus at {self.url} sent more than {most >> 20} MiB in one answer.")
            if time.monotonic() - began > _WHOLE:
                raise TooSlow(f"Prometheus at {self.url} did not finish its answer within {_WHOLE:g} s.")
        self.traffic.add(received=size)
        return b"".join(pieces)

    def _read(self, answer: requests.Response, body: bytes, read: Callable[[bytes], T]) -> T:
        is_json = "json" in answer.headers.get("Content-Type", "") or body.startswith(b"{")
        if answer.status_code != requests.codes.ok or not is_json:
            raise error_of_answer(self.url, answer, body, self._credentials.without_secrets)
        try:
            if not body.startswith(_SUCCESS):
                content = strict_json.loads(body)
                if not isinstance(content, dict) or content.get("status") != "success":
                    raise error_of_answer(self.url, answer, body, self._credentials.without_secrets)
            return read(body)
        except ValueError:  # as Truncated is
            raise truncated_answer(self.url) from None


def _pieces(answer: requests.Response, url: str) -> Iterator[bytes]:
    """Yield the bytes of an answer, some at a time."""
    try:
        yield from answer.iter_content(_PIECE)
    except requests.RequestException:  # some of these are ValueErrors
        raise
    except (ValueError, OverflowError):  # of a chunk that claims to have fewer than no bytes, or more than there can be
        raise truncated_answer(url) from None


class _Session(requests.Session):
    """A session that follows no redirect: a token would go to an address that nobody named.

    Even where redirects are not allowed, `requests` reads the whole answer and works out where it leads.
    """

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return no target, whatever the answer says."""


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

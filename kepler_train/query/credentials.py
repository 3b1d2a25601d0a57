"""Credentials of a Prometheus server: token, password, certificates and headers, from the environment or files.

| variable | what it names |
|---|---|
| PROMETHEUS_TOKEN_FILE | file of a bearer token; read again for every request, since Kubernetes replaces it |
| PROMETHEUS_USERNAME, PROMETHEUS_PASSWORD | basic authentication; without them ~/.netrc or NETRC is looked at |
| PROMETHEUS_CA_FILE | certificates of the authorities that may vouch for the server |
| PROMETHEUS_CERT_FILE, PROMETHEUS_KEY_FILE | our own certificate and its key |
| PROMETHEUS_HEADERS | `X-Scope-OrgID: team; Name: value`, for servers of many tenants |
| PROMETHEUS_HEADERS_FILE | the same, a header per line |

All but the authorities go only to servers that may have them: see trusted_servers.py. So do the logins of a netrc,
although each is of a host: it would go to any port of that host, and unencrypted if the address says so.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from netrc import NetrcParseError, netrc
from pathlib import Path
from urllib.parse import quote, quote_plus, urlsplit

import requests
from requests.utils import get_netrc_auth

from kepler_train.errors import KeplerTrainError, UserError
from kepler_train.query.trusted_servers import is_trusted, refusal

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\xa0-\xff]+")
_OUR_OWN_HEADERS = {"content-type", "content-length", "transfer-encoding"}
_AUTHORIZATION = "Authorization"
# What is shorter may be a part of any word: as the name of a tenant is, and passwords that protect nothing.
_SHORTEST_VALUE, _SHORTEST_PASSWORD = 8, 4


@dataclass(frozen=True)
class Credentials:
    """Everything that identifies us to a server; none of it is ever shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    token_file: str
    authority: str | bool
    certificate: str | tuple[str, str] | None
    password: str = field(default="", repr=False)

    def authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the headers to a request and return it.

        As `auth` of `requests`, this keeps `requests` from looking for a netrc itself.
        """
        request.headers.update(self.headers)
        if self.token_file:
            request.headers[_AUTHORIZATION] = f"Bearer {_token(self.token_file)}"
        return request

    def changed_since(self, request: requests.PreparedRequest) -> bool:
        """Return whether the token is another one than the request carried."""
        return bool(self.token_file) and request.headers.get(_AUTHORIZATION) != f"Bearer {_token(self.token_file)}"

    def without_secrets(self, text: str) -> str:
        """Return a text of the server with the secrets replaced that it may repeat, in whichever form."""
        for form in sorted((form for secret in self._secrets() for form in _forms(secret)), key=len, reverse=True):
            text = text.replace(form, "***")
        return text

    @contextmanager
    def kept_out_of_errors(self) -> Iterator[None]:
        """Raise the errors of a request without the secrets that the server may have made a part of them."""
        try:
            yield
        except KeplerTrainError as error:
            error.args = tuple(self.without_secrets(str(part)) for part in error.args)
            raise

    def _secrets(self) -> Iterator[str]:
        for value in self.headers.values():
            yield from (part for part in (value, *value.split()) if len(part) >= _SHORTEST_VALUE)
        token = _token(self.token_file) if self.token_file else ""
        yield from (secret for secret in (self.password, token) if len(secret) >= _SHORTEST_PASSWORD)


def _forms(secret: str) -> set[str]:
    """Return how a secret looks in an answer: as it is, in an address, in JSON, in HTML, in one line."""
    in_json = (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    return {secret, quote(secret, ""), quote_plus(secret), *in_json, html.escape(secret), " ".join(secret.split())}


def credentials_for(url: str, *, typed: bool = False) -> Credentials:
    """Return the credentials that the environment holds for the server at `url`.

    Who `typed` the address beside them, as an option of a command, may send them there; a run may not.
    """
    if not typed and not is_trusted(url):
        return _no_credentials(url)
    headers = _headers()
    token_file = os.environ.get("PROMETHEUS_TOKEN_FILE", "")
    login = _basic_from_environment()
    identities = [
        *(["PROMETHEUS_TOKEN_FILE"] if token_file else []),
        *(["PROMETHEUS_USERNAME"] if login else []),
        *(["the header Authorization"] if _AUTHORIZATION in headers else []),
    ]
    if len(identities) > 1:
        raise UserError(f"{' and '.join(identities)} say twice who we are to Prometheus: leave all but one unset.")
    if not identities:
        login = _basic_from_netrc(url)
    if login:
        headers[_AUTHORIZATION] = "Basic " + base64.b64encode(":".join(login).encode()).decode()
    if token_file:
        _token(token_file)  # a file that is missing is said now, not at the first request
    password = login[1] if login else ""
    return Credentials(url, headers, token_file, _authority(url), _certificate(), password)


def _no_credentials(url: str) -> Credentials:
    """Return no credentials, for a server that may not have any; refuse it where there are some to send.

    The `default` of a netrc is for every host and thus for none in particular: it is left out without a word.
    """
    variables = (f"PROMETHEUS_{name}" for name in ("TOKEN_FILE", "USERNAME", "HEADERS", "HEADERS_FILE", "CERT_FILE"))
    present = [variable for variable in variables if os.environ.get(variable)]
    if present or (present := _netrc_with(urlsplit(url).hostname or "")):
        raise refusal(url, present)
    return Credentials(url, {}, "", _authority(url), None)


def _basic_from_environment() -> tuple[str, str] | None:
    user, password = (os.environ.get(f"PROMETHEUS_{name}") for name in ("USERNAME", "PASSWORD"))
    if password and not user:
        raise UserError("PROMETHEUS_PASSWORD is set without PROMETHEUS_USERNAME: set both, or neither.")
    if user and ":" in user:
        raise UserError("PROMETHEUS_USERNAME has a colon in it, which basic authentication has no place for.")
    return (user, password or "") if user else None


def _basic_from_netrc(url: str) -> tuple[str, str] | None:
    with _reading_netrc():
        return get_netrc_auth(url, raise_errors=True)


def _netrc_with(host: str) -> list[str]:
    """Return the netrc that has a login for a host by its name, or none."""
    files = [os.environ["NETRC"]] if os.environ.get("NETRC") else ["~/.netrc", "~/_netrc"]  # as `requests` looks
    with _reading_netrc():
        for file in files:
            if Path(file).expanduser().exists():
                return [file] if host in netrc(Path(file).expanduser()).hosts else []
    return []


@contextmanager
def _reading_netrc() -> Iterator[None]:
    file = os.environ.get("NETRC") or "~/.netrc"
    if os.environ.get("NETRC"):
        _content(file, "NETRC", "password")
    try:
        yield
    except NetrcParseError as error:  # its text may quote a password
        raise UserError(f"{file} cannot be read as a netrc: line {error.lineno} is not of its form.") from None
    except OSError as error:
        raise UserError(f"The password file {file} cannot be read: {error.strerror}.") from None


def _token(file: str) -> str:
    token = _text(file, "PROMETHEUS_TOKEN_FILE", "token").strip()
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise UserError(f"The token file {file} (PROMETHEUS_TOKEN_FILE) does not hold one token.")
    return token


def _headers() -> dict[str, str]:
    """Return the headers of PROMETHEUS_HEADERS and …_FILE; messages name headers, never their values."""
    entries: list[tuple[str, str]] = []
    inline = os.environ.get("PROMETHEUS_HEADERS", "")
    if any(control in inline for control in "\r\n\0"):
        raise UserError("PROMETHEUS_HEADERS has a line break in it: separate headers with ';'.")
    entries += [("PROMETHEUS_HEADERS", part) for part in inline.split(";") if part.strip()]
    if file := os.environ.get("PROMETHEUS_HEADERS_FILE"):
        lines = _text(file, "PROMETHEUS_HEADERS_FILE", "headers").split("\n")
        entries += [(file, line) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    headers: dict[str, str] = {}
    for origin, text in entries:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon or not _HEADER_NAME.fullmatch(name):
            raise UserError(f"{origin} has a part that is not of the form 'Name: value'.")
        if not _HEADER_VALUE.fullmatch(value):
            raise UserError(f"The header {name} of {origin} is empty or has characters that no header may have.")
        if name.lower() in _OUR_OWN_HEADERS:
            raise UserError(f"The header {name} of {origin} is the request's own: leave it out.")
        name = _AUTHORIZATION if name.lower() == _AUTHORIZATION.lower() else name
        if name.lower() in (known.lower() for known in headers):
            raise UserError(f"The header {name} is given twice: leave out one of the two.")
        headers[name] = value
    return headers


def _authority(url: str) -> str | bool:
    """Return the file of trusted authorities, or True for those that the system and `requests` know."""
    file = os.environ.get("PROMETHEUS_CA_FILE")
    if not file and not url.startswith("https:"):
        return True  # nobody has to be trusted
    if not file:
        # As `requests` looks it up when nothing is said.
        bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        if bundle and not Path(bundle).exists():
            raise UserError(f"There are no certificates at {bundle} (REQUESTS_CA_BUNDLE).")
        return bundle or True
    _content(file, "PROMETHEUS_CA_FILE", "certificate")
    try:
        ssl.create_default_context(cafile=file)
    except ssl.SSLError:
        raise UserError(f"{file} (PROMETHEUS_CA_FILE) holds no certificates: it must be a PEM file.") from None
    return file


def _certificate() -> str | tuple[str, str] | None:
    certificate, key = (os.environ.get(f"PROMETHEUS_{name}_FILE") for name in ("CERT", "KEY"))
    if not certificate:
        if key:
            raise UserError("PROMETHEUS_KEY_FILE is set without PROMETHEUS_CERT_FILE: a key needs its certificate.")
        return None
    _content(certificate, "PROMETHEUS_CERT_FILE", "certificate")
    if key:
        _content(key, "PROMETHEUS_KEY_FILE", "key")
    try:
        # An empty pass phrase, so that an encrypted key is refused instead of asked about on the terminal.
        ssl.create_default_context().load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        raise UserError(
            f"{certificate} (PROMETHEUS_CERT_FILE) and {key or 'the key in it'} (PROMETHEUS_KEY_FILE) are not"
            " a certificate and its key in PEM form without a pass phrase."
        ) from None
    return (certificate, key) if key else certificate


def _text(file: str, variable: str, kind: str) -> str:
    try:
        return _content(file, variable, kind).decode()
    except UnicodeDecodeError:
        raise UserError(f"The {kind} file {file} ({variable}) is not text.") from None


def _content(file: str, variable: str, kind: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UserError(f"The {kind} file {file} ({variable}) cannot be read: {error.strerror}.") from None

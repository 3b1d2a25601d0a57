"""Credentials of a Prometheus server: token, password, certificates and headers, from the environment or files.

| variable | what it names |
|---|---|
| PROMETHEUS_TOKEN_FILE | file of a bearer token; read again for every request, since Kubernetes replaces it |
| PROMETHEUS_USERNAME, PROMETHEUS_PASSWORD | basic authentication; without them ~/.netrc or NETRC is looked at |
| PROMETHEUS_CA_FILE | certificates of the authorities that may vouch for the server |
| PROMETHEUS_CERT_FILE, PROMETHEUS_KEY_FILE | our own certificate and its key |
| PROMETHEUS_HEADERS | `X-Scope-OrgID: team; Name: value`, for servers of many tenants |
| PROMETHEUS_HEADERS_FILE | the same, a header per line |
"""

from __future__ import annotations

import base64
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from netrc import NetrcParseError
from pathlib import Path

import requests
from requests.utils import get_netrc_auth

from kepler_train.errors import UserError

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\xa0-\xff]+")
_OUR_OWN_HEADERS = {"content-type", "content-length", "transfer-encoding"}
_AUTHORIZATION = "Authorization"
_SHORTEST_SECRET = 8  # what is shorter, as the name of a tenant, may be a part of any word


@dataclass(frozen=True)
class Credentials:
    """Everything that identifies us to a server; none of it is ever shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    token_file: str
    authority: str | bool
    certificate: str | tuple[str, str] | None

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
        """Return a text of the server with the secrets replaced that it may repeat."""
        secrets = [part for value in self.headers.values() for part in value.split()]
        if self.token_file:
            secrets.append(_token(self.token_file))
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***")
        return text


def credentials_for(url: str) -> Credentials:
    """Return the credentials that the environment holds for the server at `url`."""
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
    return Credentials(url, headers, token_file, _authority(url), _certificate())


def _basic_from_environment() -> tuple[str, str] | None:
    user, password = (os.environ.get(f"PROMETHEUS_{name}") for name in ("USERNAME", "PASSWORD"))
    if password and not user:
        raise UserError("PROMETHEUS_PASSWORD is set without PROMETHEUS_USERNAME: set both, or neither.")
    if user and ":" in user:
        raise UserError("PROMETHEUS_USERNAME has a colon in it, which basic authentication has no place for.")
    return (user, password or "") if user else None


def _basic_from_netrc(url: str) -> tuple[str, str] | None:
    file = os.environ.get("NETRC") or "~/.netrc"
    if os.environ.get("NETRC"):
        _content(file, "NETRC", "password")
    try:
        return get_netrc_auth(url, raise_errors=True)
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

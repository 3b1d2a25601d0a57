"""Addresses without secrets: which server one names, what looks like a secret in it, and what may be shown of it."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

# An address is read by this expression alone, so that no other reader can find another host in it than we compare:
# ASCII only, and none of the characters with which one host is hidden behind another (@ \ % # and white space).
# Letters of both cases are written out, as ignoring the case lets in letters that only look like them.
SERVER_PATTERN = r"^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[^\s?#@\\]*)?$"
"""The address of a server, as http://host:9090/path, also for readers of JSON schemas."""
STORE_PATTERN = r"^([Ss]3://[A-Za-z0-9][A-Za-z0-9._-]*(/[^?#@\\]*)?|[Ff][Ii][Ll][Ee]:[^?#@]*|[^:/]+(/.*)?|/([^/].*)?)?$"
"""The address of files: s3://bucket/prefix, file:///path, or a path whose first part has no colon."""

_SERVER = re.compile(SERVER_PATTERN)
_S3 = re.compile(r"[Ss]3://(?P<bucket>[A-Za-z0-9][A-Za-z0-9._-]{0,254})(?:/(?P<prefix>[^?#@\\]*))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SECRETS_OF_SERVERS = "PROMETHEUS_TOKEN_FILE, or PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD"
SECRETS_OF_FILES = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TELLING_NAME = (
    r"(?:[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|pwd|signature|credentials?|authorization"
    r"|(?:api|access|private|secret|account)[-_.]?key(?:[-_.]?id)?)|auth|sig|sas|jwt|(?<=[?&])key)"
)
_SECRET_PARAMETER = re.compile(rf"[?&;#]{_TELLING_NAME}=[^&;#\s]", re.IGNORECASE)
_SHOWN_PARAMETER = re.compile(rf"((?:[?&;#]|%3[fb]|%26){_TELLING_NAME}(?:=|%3d))[^\s&;#\"'<>]+", re.IGNORECASE)
_USER = re.compile(r"//[^\s/?#]*@")
_WORD = re.compile(r"[^\s\"]+")
_BEGIN = re.compile("://?|//")  # a path has one slash where the address had two
_MOST_DECODINGS = 5  # nobody decodes an address more often


class BadAddress(ValueError):
    """What is wrong with an address, in a sentence that is fit to be shown."""


@dataclass(frozen=True)
class Origin:
    """The server that an address names. Two addresses are of one server only if all three parts are equal.

    A final dot counts: `prom.` is looked up as it is, `prom` in the domains of the machine that asks.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"


def origin_of(address: str) -> Origin:
    """Return the server of an http:// or https:// address."""
    found = _SERVER.fullmatch(_checked(address, SECRETS_OF_SERVERS))
    if found is None:
        raise _refusal(address, "is not of the form http://host:9090/path, in ASCII letters")
    scheme = address.partition(":")[0].lower()
    host, port = found[1].lower(), int((found[2] or "")[1:] or _DEFAULT_PORTS[scheme])
    if not 0 < port < 1 << 16:
        raise _refusal(address, f"has the port {port}, which no server can have")
    if host.startswith("["):
        try:
            host = f"[{ipaddress.IPv6Address(host[1:-1])}]"
        except ValueError:
            raise _refusal(address, "has brackets around something else than an IPv6 address") from None
    return Origin(scheme, host, port)


def files_at(address: str) -> tuple[str, str] | str:
    """Return bucket and prefix of an s3:// address, or the path of a folder or a file.

    The server of a bucket is no part of its address: it is the installation's own, as AWS_ENDPOINT_URL says.
    """
    scheme, colon, rest = _checked(address, SECRETS_OF_FILES).partition(":")
    try:
        path = urlsplit(address).path
    except ValueError:  # brackets where a host would be
        raise _refusal(address, "is neither a folder nor an s3:// address") from None
    if not colon or not _SCHEME.fullmatch(scheme):
        return address
    if scheme.lower() == "file" and not re.search("[?#]", rest):
        return path
    if scheme.lower() not in ("file", "s3"):
        raise _refusal(address, "is neither a folder nor an s3:// address")
    if not rest.strip("/"):
        raise _refusal(address, "names no bucket: write s3://bucket/prefix")
    found = _S3.fullmatch(address)
    if found is None or {".", ".."} & set((found["prefix"] or "").split("/")):  # who sends such a path may cut it
        raise _refusal(address, "is not of the form s3://bucket/prefix")
    return found["bucket"], (found["prefix"] or "").strip("/")


def _checked(address: str, variables: str) -> str:
    """Return an address that has neither a secret in it, which belongs into `variables`, nor control characters."""
    if secret := secret_in(address):
        raise BadAddress(f"The address has {secret} in it, which would be stored and shown: set {variables} instead")
    if _CONTROL.search(address):
        raise _refusal(address, "has control characters in it")
    return address


def _refusal(address: str, reason: str) -> BadAddress:
    """Return the error of an address, which it names up to its query string."""
    named = re.split("[?#]", address, maxsplit=1)[0]
    if named != address:
        return BadAddress(f"{named!r} is followed by a query string or a fragment: leave that out")
    return BadAddress(f"{address!r} {reason}")


def secret_in(address: str) -> str:
    """Return what looks like a secret in an address or a path, in a few words; empty where nothing does."""
    plain = _decoded(address)
    before, at, _ = plain.rpartition("@")
    # A password may have any letters, so what stands before the last @ is taken for one wherever that is.
    if at and ("://" in before or before.startswith("//") or ":" in before.partition("/")[0]):
        return "a user or a password"
    return "a token or a key" if _SECRET_PARAMETER.search(plain) else ""


def user_in(text: str) -> bool:
    """Return whether a text has an address with a user or a password before its host."""
    return bool(_USER.search(_decoded(text)))


def without_secrets(text: str) -> str:
    """Return a text with users, passwords and tokens of the addresses in it replaced by ***."""
    return _WORD.sub(_word_without_secrets, text) if "/" in text else text


def _word_without_secrets(word: re.Match[str]) -> str:
    """Return a word without what stands between :/ or // and the last @, nor the values of telling parameters."""
    text = word[0]
    begin, end = _BEGIN.search(text), max(text.rfind("@"), text.rfind("%40"))
    if begin and begin.end() < end:
        text = f"{text[: begin.end()]}***{text[end:]}"
    return _SHOWN_PARAMETER.sub(r"\1***", text)


def _decoded(text: str) -> str:
    """Return a text without percent encoding, however often it was applied, and without wide or small letters."""
    for _ in range(_MOST_DECODINGS):
        text = unicodedata.normalize("NFKC", unquote(text))
    return text

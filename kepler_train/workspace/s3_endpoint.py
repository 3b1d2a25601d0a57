"""The S3 server of an installation: the only one that gets requests with its keys, whatever a bucket is called.

A run names buckets, and boto3 makes hosts of some names: those of directory buckets and of access points on Outposts.
Its requests would carry a signature and the session's token to a server that nobody but the run has named.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from kepler_train.addresses import SECRETS_OF_FILES, secret_in
from kepler_train.errors import UserError

_AWS = re.compile(r"(?:[a-z0-9.-]+\.)?amazonaws\.com(?:\.cn)?")


def check_endpoint(address: str, setting: str) -> None:
    """Refuse an address of the S3 server that has a secret in it, as messages and logs would show it."""
    if secret := secret_in(address):
        raise UserError(f"The address of the S3 server ({setting}) has {secret} in it: set {SECRETS_OF_FILES} instead.")


def keep_to_endpoint(client: Any, uri: str) -> None:
    """Let a client of boto3 send requests to its own server only; without one of its own, to those of AWS."""
    client.meta.events.register("before-send.s3", lambda request, **_: check_server(client, request.url, uri))


def check_server(client: Any, url: str, uri: str) -> None:
    """Refuse a request of a client for `uri` that would be sent to another server than its own."""
    own, asked = urlsplit(client.meta.endpoint_url), urlsplit(url)
    same = (asked.scheme, asked.netloc) == (own.scheme, own.netloc)
    if not same and not (asked.scheme == "https" and _of_aws(own.hostname) and _of_aws(asked.hostname)):
        raise UserError(
            f"{uri} is not at the S3 server of this installation, {own.scheme}://{own.netloc}, but at {asked.netloc},"
            " which does not get its keys: name a bucket of that server."
        )


def _of_aws(host: str | None) -> bool:
    return _AWS.fullmatch(host or "") is not None

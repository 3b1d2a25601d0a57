"""Keys of an object store from a mounted secret: a folder with a file for each key, as Kubernetes mounts it.

The names of the keys are those that users of kepler-model-server's pipelines have in their secrets. Without a secret
the keys are those of the environment, an AWS profile or a role, as boto3 finds them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from kepler_train.addresses import BadAddress, files_at, origin_of
from kepler_train.errors import Skipped, UserError

SECRETS = "KEPLER_TRAIN_SECRETS"
SECRETS_FOLDER = "/etc/kepler-train/secrets"
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")  # as Kubernetes names secrets
_LONGEST = 10_000  # bytes of a key

_KEYS: dict[str, tuple[str, ...]] = {
    "aws": ("accessKeyID", "accessSecret", "regionName", "bucketName"),
    "ibmcloud": ("serviceEndpoint", "apiKey", "serviceInstanceID", "bucketName"),
}


@dataclass(frozen=True)
class StoreKeys:
    """What a secret holds; what is secret in it is not shown."""

    name: str
    bucket: str
    endpoint: str = ""
    region: str = ""
    access_key: str = field(default="", repr=False)
    access_secret: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    instance: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what must be in no message."""
        return tuple(filter(None, (self.access_secret, self.api_key)))


_by_bucket: dict[str, StoreKeys] = {}


def keys_of(bucket: str) -> StoreKeys | None:
    """Return the keys that were granted for a bucket; None for those of the environment."""
    return _by_bucket.get(bucket)


def grant(provider: str, name: str, address: str) -> str:
    """Let this process use the secret of that name for its bucket; return where models are.

    `address` is where they are meant to be; empty for `models/` in the bucket that the secret names. A secret that is
    not mounted skips what needs it.
    """
    keys = read_secret(provider, name)
    try:
        place = files_at(address) if address else (keys.bucket, "models")
    except BadAddress as error:
        raise UserError(f"{error}.") from None
    if isinstance(place, str):
        raise UserError(
            f"publish_to is the folder {place}, and cos_provider {provider} is for a bucket: leave one of them out."
        )
    _by_bucket[place[0]] = keys
    return address or f"s3://{keys.bucket}/models"


def read_secret(provider: str, name: str) -> StoreKeys:
    """Return the keys of a mounted secret; name the first that is missing. Skip without a secret."""
    if not name:
        raise Skipped(f"cos_provider is {provider} and cos_secret_name is empty: no keys, so nothing is published.")
    if not _NAME.fullmatch(name):
        raise UserError(f"cos_secret_name {name!r} is not the name of a Kubernetes secret.")
    folder = Path(os.environ.get(SECRETS) or SECRETS_FOLDER) / name
    if not folder.is_dir() or not any(folder.iterdir()):  # an optional secret that does not exist is an empty folder
        raise Skipped(
            f"The secret {name} is not mounted at {folder}: nothing is published. The models stay in the workspace."
        )
    found = {key: _read(folder / key, name, provider) for key in _KEYS[provider]}
    endpoint = folder / "serviceEndpoint"  # of an S3 server of one's own, with keys as those of AWS
    if provider == "aws":
        address = _endpoint(_read(endpoint, name, provider), name) if endpoint.is_file() else ""
        keys = {"access_key": found["accessKeyID"], "access_secret": found["accessSecret"]}
        return StoreKeys(name, found["bucketName"], address, found["regionName"], **keys)
    address = _endpoint(found["serviceEndpoint"], name)
    return StoreKeys(name, found["bucketName"], address, api_key=found["apiKey"], instance=found["serviceInstanceID"])


def _read(file: Path, name: str, provider: str) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        keys = ", ".join(_KEYS[provider])
        raise UserError(f"The secret {name} has no key {file.name}: COS_PROVIDER {provider} needs {keys}.") from None
    except OSError as error:
        raise UserError(f"The key {file.name} of the secret {name} cannot be read: {error.strerror}.") from None
    text = content[:_LONGEST].decode("utf-8", "replace").strip()
    if not text or not text.isprintable() or len(content) > _LONGEST:
        raise UserError(f"The key {file.name} of the secret {name} is empty or is not one line of text.")
    return text


def _endpoint(text: str, name: str) -> str:
    address = text if "://" in text else f"https://{text}"
    try:
        origin_of(address)
    except BadAddress:
        raise UserError(f"The key serviceEndpoint of the secret {name} is not the address of a server.") from None
    return address

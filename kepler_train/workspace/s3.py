"""A store in a bucket. Keys and addresses come from the environment as boto3 reads it (AWS_…)."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kepler_train.addresses import without_secrets
from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.scratch import ScratchFolder
from kepler_train.workspace.keys import below, check_small, usable_names
from kepler_train.workspace.s3_doubts import believing, doubt
from kepler_train.workspace.s3_endpoint import check_endpoint, check_server, keep_to_endpoint

_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_MISSING = {"404", "NoSuchKey", "NotFound"}
_DENIED = {"403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "Forbidden", "401"}
_OVERTAKEN = {"412", "PreconditionFailed", "409", "ConditionalRequestConflict", *_MISSING}
_TRANSIENT = {"RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "TooManyRequests", "429", "408"}
_PIECE = 1 << 20  # bytes read at a time
_MOST_DELETED = 1000  # objects in one request, by the protocol


class S3Store:
    """Objects of one bucket below a prefix; S3 shows an object only when it is whole."""

    private = False

    def __init__(self, bucket: str, prefix: str) -> None:
        import boto3
        from botocore.config import Config

        self.bucket, self.prefix = bucket, prefix
        self.uri = f"s3://{bucket}/{prefix}".rstrip("/")
        # A server that does not answer is noticed within half a minute: then it is Airflow's turn to wait.
        retries = {"total_max_attempts": 4, "mode": "standard"}
        for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
            check_endpoint(os.environ.get(variable, ""), variable)
        with self._explained():
            self._client: Any = boto3.client(
                "s3",
                config=Config(retries=retries, connect_timeout=5, read_timeout=30, s3={"addressing_style": "path"}),
            )
        check_endpoint(self._client.meta.endpoint_url, "endpoint_url of the AWS configuration")
        keep_to_endpoint(self._client, self.uri)
        doubt(self._client, self.uri)

    def check_server(self) -> None:
        """Refuse a bucket that is not at the installation's server, and an environment without keys."""
        with self._explained():
            # It is where a request would be sent; nothing is.
            url = self._client.generate_presigned_url("get_object", {"Bucket": self.bucket, "Key": self._key("x")})
        check_server(self._client, url, self.uri)

    def read(self, key: str, recheck: bool = True) -> bytes | None:
        """Return the content of a small object, or None when it does not exist; `recheck` asks again before that."""
        with self._explained(), believing(not recheck):
            return self._get(key)[0]

    def write(self, key: str, content: bytes) -> None:
        """Write a small object."""
        with self._explained():
            self._client.put_object(Bucket=self.bucket, Key=self._key(key), Body=content)

    def update(self, key: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Change a small object as if nobody else could at the same time; a change to None leaves it as it is."""
        from botocore.exceptions import ClientError

        with self._explained():
            while True:
                before, unchanged = self._get(key)
                content = change(before)
                if content is None:
                    return None
                try:
                    self._client.put_object(Bucket=self.bucket, Key=self._key(key), Body=content, **unchanged)
                    return None
                except ClientError as error:
                    if error.response["Error"]["Code"] == "NotImplemented":  # a server without conditional writes
                        return self.write(key, content)
                    if error.response["Error"]["Code"] not in _OVERTAKEN:
                        raise

    def _get(self, key: str) -> tuple[bytes | None, dict[str, str]]:
        """Return the content of an object, or None, and the condition of a write that it is unchanged."""
        from botocore.exceptions import ClientError

        try:
            answer = self._client.get_object(Bucket=self.bucket, Key=self._key(key))
        except ClientError as error:
            if error.response["Error"]["Code"] not in _MISSING:
                raise
            return None, {"IfNoneMatch": "*"}
        check_small(f"{self.uri}/{key}", answer["ContentLength"])
        return answer["Body"].read(), {"IfMatch": answer["ETag"]}

    def upload(self, file: Path, key: str) -> None:
        """Write a file from this machine, in parts when it is large."""
        with self._explained():
            self._client.upload_file(str(file), self.bucket, self._key(key))

    def sha256(self, key: str) -> str | None:
        """Return the SHA-256 of what an object holds now, read from its first byte to its last; None without one."""
        from botocore.exceptions import ClientError

        digest = hashlib.sha256()
        with self._explained():
            try:
                body = self._client.get_object(Bucket=self.bucket, Key=self._key(key))["Body"]
                for piece in body.iter_chunks(_PIECE):
                    digest.update(piece)
            except ClientError as error:
                if error.response["Error"]["Code"] not in _MISSING:
                    raise
                return None
        return digest.hexdigest()

    def download(self, key: str, folder: Path) -> Path:
        """Copy an object into `folder` and return the path; there is no file when the object does not exist."""
        from botocore.exceptions import ClientError

        target = below(folder, key)
        with self._explained(), usable_names(self.uri, key):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._client.download_file(self.bucket, self._key(key), str(target))
            except ClientError as error:
                if error.response["Error"]["Code"] not in _MISSING:
                    raise
        return target

    def sizes(self, prefix: str, recheck: bool = True) -> dict[str, int]:
        """Return every key below the folder `prefix` with its size (bytes); `recheck` asks again before it is none."""
        sizes: dict[str, int] = {}
        cut = len(self._key("")) if self.prefix else 0
        with self._explained(), believing(not recheck):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(
                Bucket=self.bucket, Prefix=self._key(f"{prefix.rstrip('/')}/" if prefix else "")
            ):
                for item in page.get("Contents", []):
                    if not item["Key"].endswith("/"):  # consoles make such objects, to show a folder
                        sizes[item["Key"][cut:]] = item["Size"]
        return sizes

    def folders(self, prefix: str = "") -> list[str]:
        """Return the names of the folders directly below a folder."""
        names: list[str] = []
        place = self._key(f"{prefix}/" if prefix else "")
        with self._explained():
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.bucket, Prefix=place, Delimiter="/"):
                names += [item["Prefix"][len(place) :].rstrip("/") for item in page.get("CommonPrefixes", [])]
        return sorted(names)

    def delete(self, key: str) -> None:
        """Remove an object if it exists."""
        with self._explained():
            self._client.delete_object(Bucket=self.bucket, Key=self._key(key))

    def delete_all(self, keys: Iterable[str]) -> None:
        """Remove objects, as many in a request as it may have."""
        objects = [{"Key": self._key(key)} for key in keys]
        with self._explained():
            for start in range(0, len(objects), _MOST_DELETED):
                chosen = {"Objects": objects[start : start + _MOST_DELETED], "Quiet": True}
                answer = self._client.delete_objects(Bucket=self.bucket, Delete=chosen)
                for failed in answer.get("Errors", []):
                    raise ValueError(f"An error occurred ({failed['Code']}): {failed['Key']} is not deleted")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a folder of this machine, removed afterwards."""
        with ScratchFolder() as work:
            yield work

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}" if self.prefix else key

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise what boto3 raises as one sentence with an exit code."""
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (BotoCoreError, ClientError, Boto3Error, ValueError) as error:
            raise self._sentence(error) from None

    def _sentence(self, error: Exception) -> KeplerTrainError:
        from botocore import exceptions as boto

        if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError):
            return UserError(f"No keys for {self.uri}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
        message = _without_secrets(" ".join(str(error).split()).rstrip("."))
        # upload_file wraps the client's error in one of its own and keeps only the words.
        match = re.search(r"An error occurred \((\w+)\)", message)
        code = match[1] if match else ""
        if code == "NoSuchBucket":
            return UserError(f"There is no bucket {self.bucket!r}: create it or name another in {self.uri}.")
        if code in _DENIED:
            return UserError(f"{self.uri} refused the keys ({code}): check AWS_ACCESS_KEY_ID and its rights.")
        if isinstance(error, boto.ClientError) and code not in _TRANSIENT:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500) < 500:
                return UserError(f"{self.uri} refused the request: {message}.")
        elif isinstance(
            error,
            ValueError
            | boto.ParamValidationError
            | boto.EndpointProviderError  # a name that boto3 makes a host of, and cannot
            | boto.ProfileNotFound
            | boto.ConfigParseError
            | boto.ConfigNotFound,
        ):
            return UserError(f"{self.uri} cannot be used: {message}.")
        return TryAgain(f"{self.uri} did not answer: {message}.")


def _without_secrets(message: str) -> str:
    """Return a message of boto3 or of the server without the keys; it may quote addresses and what it was sent."""
    for secret in filter(None, map(os.environ.get, _SECRETS)):
        message = message.replace(secret, "***")
    return without_secrets(message)

"""A store in a bucket. Keys and addresses are those that boto3 finds (AWS_…), or those of a mounted secret."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kepler_train.hashing import sha256_of
from kepler_train.scratch import ScratchFolder
from kepler_train.workspace.keys import below, check_small, usable_names
from kepler_train.workspace.s3_client import make_client
from kepler_train.workspace.s3_doubts import believing, doubt
from kepler_train.workspace.s3_endpoint import check_server, keep_to_endpoint
from kepler_train.workspace.s3_errors import MISSING, OVERTAKEN, ArrivedChanged, sentence_of
from kepler_train.workspace.s3_etag import PART, etag_of
from kepler_train.workspace.store_keys import keys_of

_PIECE = 1 << 20  # bytes read at a time
_TRIES = 2  # to send a file, or to read a small one to its end
# An upload takes minutes; its parts are kept, and paid for, until somebody ends it.
_ABANDONED = timedelta(days=1)
_MOST_DELETED = 1000  # objects in one request, by the protocol


class S3Store:
    """Objects of one bucket below a prefix; S3 shows an object only when it is whole."""

    private = False

    def __init__(self, bucket: str, prefix: str) -> None:
        self.bucket, self.prefix = bucket, prefix
        self.uri = f"s3://{bucket}/{prefix}".rstrip("/")
        self._keys = keys_of(bucket)
        with self._explained():
            self._client: Any = make_client(self._keys)
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
                    if error.response["Error"]["Code"] not in OVERTAKEN:
                        raise

    def _get(self, key: str) -> tuple[bytes | None, dict[str, str]]:
        """Return the content of an object, or None, and the condition of a write that it is unchanged."""
        from botocore.exceptions import ClientError, IncompleteReadError, ResponseStreamingError

        for left in reversed(range(_TRIES)):
            try:
                answer = self._client.get_object(Bucket=self.bucket, Key=self._key(key))
                check_small(f"{self.uri}/{key}", answer["ContentLength"])
                return answer["Body"].read(), {"IfMatch": answer["ETag"]}
            except ClientError as error:
                if error.response["Error"]["Code"] not in MISSING:
                    raise
                break
            except (IncompleteReadError, ResponseStreamingError):  # cut in the body, which boto3 leaves to us
                if not left:
                    raise
        return None, {"IfNoneMatch": "*"}

    def upload(self, file: Path, key: str) -> None:
        """Write a file from this machine, in parts when it is large, and make sure that it arrived as it is."""
        expected = etag_of(file)
        for left in reversed(range(_TRIES)):
            try:
                if self.holds(key, file, self._send(file, key), expected):
                    return
            except ArrivedChanged:
                if not left:
                    raise
        raise ArrivedChanged(f"What {self.uri} holds as {key} is not what was sent to it, {_TRIES} times.")

    def _send(self, file: Path, key: str) -> str:
        """Send a file, and return the ETag that the server gave it."""
        from boto3.s3.transfer import TransferConfig

        place = {"Bucket": self.bucket, "Key": self._key(key)}
        with self._explained():
            if file.stat().st_size < PART:
                with file.open("rb") as content:
                    answer = self._client.put_object(**place, Body=content)
            else:
                parts = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)
                self._client.upload_file(str(file), self.bucket, self._key(key), Config=parts)
                answer = self._client.head_object(**place)
        return str(answer["ETag"]).strip('"')

    def holds(self, key: str, file: Path, etag: str, expected: str = "") -> bool:
        """Return whether an object with this ETag has the content of a file.

        A server that encrypts has other ETags than MD5: then the object is read. `expected` is the file's own ETag,
        where it is known.
        """
        return etag == (expected or etag_of(file)) or self.sha256(key) == sha256_of(file)

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
                if error.response["Error"]["Code"] not in MISSING:
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
                if error.response["Error"]["Code"] not in MISSING:
                    raise
        return target

    def sizes(self, prefix: str, recheck: bool = True) -> dict[str, int]:
        """Return every key below the folder `prefix` with its size (bytes); `recheck` asks again before it is none."""
        with believing(not recheck):
            return {key: item["Size"] for key, item in self._items(prefix)}

    def etags(self, prefix: str) -> dict[str, str]:
        """Return every key below the folder `prefix` with its ETag."""
        return {key: str(item["ETag"]).strip('"') for key, item in self._items(prefix)}

    def _items(self, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every key below a folder with what a listing has of it."""
        cut = len(self._key("")) if self.prefix else 0
        with self._explained():
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(
                Bucket=self.bucket, Prefix=self._key(f"{prefix.rstrip('/')}/" if prefix else "")
            ):
                for item in page.get("Contents", []):
                    if not item["Key"].endswith("/"):  # consoles make such objects, to show a folder
                        yield item["Key"][cut:], item

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

    def end_abandoned_uploads(self, prefix: str, age: timedelta = _ABANDONED) -> int:
        """Remove the parts of uploads below the folder `prefix` that began so long ago; return how many uploads.

        Keys that may not look for them, and servers that do not know the request, leave them as they are.
        """
        from botocore.exceptions import ClientError

        ended, oldest = 0, datetime.now(UTC) - age
        try:
            pages = self._client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(Bucket=self.bucket, Prefix=self._key(f"{prefix}/")):
                for upload in page.get("Uploads", []):
                    if upload["Initiated"] <= oldest:
                        place = {"Bucket": self.bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
                        self._client.abort_multipart_upload(**place)
                        ended += 1
        except ClientError:
            return ended
        return ended

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
            raise sentence_of(error, self.uri, self.bucket, self._keys) from None

"""What boto3 and S3 servers say, as one sentence with an exit code: who has to act, and what to do."""

from __future__ import annotations

import os
import re

from kepler_train.addresses import without_secrets
from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.workspace.store_keys import StoreKeys

_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
MISSING = {"404", "NoSuchKey", "NotFound"}
OVERTAKEN = {"412", "PreconditionFailed", "409", "ConditionalRequestConflict", *MISSING}
_WRONG_KEYS = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "401", "Unauthorized"}
_DENIED = {"403", "AccessDenied", "Forbidden", "AllAccessDisabled"}
_EXPIRED = {"ExpiredToken", "TokenRefreshRequired", "RequestExpired"}
_FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "507", "EntityTooLarge", "ServiceQuotaExceeded"}
_TRANSIENT = {"RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "TooManyRequests", "429", "408"}
_SENT_WRONG = {"BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"}
# What a policy must allow, by the operation that was refused.
_PERMISSIONS = {
    "PutObject": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "ListObjectsV2": "s3:ListBucket",
    "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject",
}


class ArrivedChanged(TryAgain):
    """The server received other bytes than were sent, and refused them."""


def sentence_of(error: Exception, uri: str, bucket: str, keys: StoreKeys | None) -> KeplerTrainError:
    """Return the error of a store at `uri` for what was raised by boto3."""
    from botocore import exceptions as boto

    named = f"the secret {keys.name}" if keys else "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError):
        return UserError(
            f"No keys for {uri}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or COS_PROVIDER and"
            " COS_SECRET_NAME."
        )
    message = _without_secrets(" ".join(str(error).split()).rstrip("."), keys)
    # upload_file wraps the client's error in one of its own and keeps only the words.
    match = re.search(r"An error occurred \((\w+)\)(?: when calling the (\w+) operation)?", message)
    code, operation = (match[1], match[2] or "") if match else ("", "")
    if code == "NoSuchBucket":
        return UserError(f"There is no bucket {bucket!r}: create it or name another in {uri}.")
    if code in _WRONG_KEYS:
        return UserError(f"{uri} refused the keys ({code}): check {named}.")
    if code in _EXPIRED:
        return UserError(f"{uri} refused the keys, as their time is over ({code}): renew {named}.")
    if code == "RequestTimeTooSkewed":
        return UserError(
            f"{uri} refused the request, as its clock and that of this machine differ: set this one right."
        )
    if code in _DENIED:
        needed = _PERMISSIONS.get(operation, "")
        wanted = f"they lack the permission {needed} on it" if needed else "they lack a permission on it"
        return UserError(f"{uri} refused {operation or 'a request'} with the keys of {named}: {wanted}.")
    if code in _FULL:
        return UserError(
            f"{uri} has no room for more ({code}): raise its quota, or remove versions with `models prune`."
        )
    if code in _SENT_WRONG:
        return ArrivedChanged(f"What {uri} received is not what was sent ({code}): the network between changed it.")
    if isinstance(error, boto.ClientError) and code not in _TRANSIENT:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500) < 500:
            return UserError(f"{uri} refused the request: {message}.")
    elif isinstance(
        error,
        ValueError
        | boto.ParamValidationError
        | boto.EndpointProviderError  # a name that boto3 makes a host of, and cannot
        | boto.ProfileNotFound
        | boto.ConfigParseError
        | boto.ConfigNotFound,
    ):
        return UserError(f"{uri} cannot be used: {message}.")
    return TryAgain(f"{uri} did not answer: {message}.")


def _without_secrets(message: str, keys: StoreKeys | None) -> str:
    """Return a message of boto3 or of the server without the keys; it may quote addresses and what it was sent."""
    for secret in (*filter(None, map(os.environ.get, _SECRETS)), *(keys.secrets if keys else ())):
        message = message.replace(secret, "***")
    return without_secrets(message)

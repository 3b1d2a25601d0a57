"""The proxy of the fault tests: each fault is what its name says, and all else passes as it is."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from s3_faults import Fault, S3Faults

pytestmark = pytest.mark.integration

CONTENT = b"eleven byte"


@pytest.fixture
def client(proxy: S3Faults) -> Any:
    """A client that tries once and checks nothing, with one object in the bucket."""
    once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    made = boto3.client("s3", config=once.merge(Config(response_checksum_validation="when_required")))
    made.put_object(Bucket="lab", Key="proxy/object", Body=CONTENT)
    proxy.clear()
    return made


def get(client: Any, **more: str) -> bytes:
    return client.get_object(Bucket="lab", Key="proxy/object", **more)["Body"].read()


def test_requests_pass_as_they_are(client: Any, proxy: S3Faults):
    assert get(client) == CONTENT
    assert get(client, Range="bytes=7-") == b"byte"
    assert client.list_objects_v2(Bucket="lab", Prefix="proxy/")["KeyCount"] == 1
    with pytest.raises(ClientError, match="404"):
        client.head_object(Bucket="lab", Key="proxy/nothing")
    seen = [(request.method, request.key, request.status) for request in proxy.requests]
    assert seen == [
        ("GET", "proxy/object", 200),
        ("GET", "proxy/object", 206),
        ("GET", "proxy/", 200),
        ("HEAD", "proxy/nothing", 404),
    ]
    assert proxy.faults() == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.INTERNAL_500, "InternalError"),
        (Fault.SLOW_DOWN_503, "SlowDown"),
        (Fault.WRONG_404, "NoSuchKey"),
        (Fault.RESET, "closed"),
        (Fault.LOST_ANSWER, "closed"),
        (Fault.CUT_BODY, "5 bytes read, 6 more expected"),
    ],
)
def test_a_fault_ends_a_request_as_it_says(client: Any, proxy: S3Faults, fault: Fault, words: str):
    proxy.inject(fault)
    with pytest.raises((ClientError, BotoCoreError), match=words):
        get(client)
    assert proxy.faults() == [fault]
    assert get(client) == CONTENT


@pytest.mark.parametrize(
    ("fault", "content"),
    [(Fault.EMPTY_200, b""), (Fault.EMPTIED_200, b""), (Fault.CHANGED_BYTE, b"dleven byte")],
)
def test_a_fault_gives_another_content(client: Any, proxy: S3Faults, fault: Fault, content: bytes):
    proxy.inject(fault)
    assert get(client) == content


def test_an_empty_listing_hides_objects(client: Any, proxy: S3Faults):
    proxy.inject(Fault.EMPTY_LISTING, key="proxy/")
    assert client.list_objects_v2(Bucket="lab", Prefix="proxy/")["KeyCount"] == 0


def test_a_lost_answer_is_that_of_a_write_which_was_done(client: Any, proxy: S3Faults):
    proxy.inject(Fault.LOST_ANSWER, method="PUT")
    with pytest.raises(BotoCoreError):
        client.put_object(Bucket="lab", Key="proxy/object", Body=b"new")
    assert get(client) == b"new"


def test_faults_are_for_some_requests_of_a_kind(client: Any, proxy: S3Faults):
    proxy.inject(Fault.WRONG_404, method="GET", key="object", after=1, times=1)
    client.head_object(Bucket="lab", Key="proxy/object")
    assert get(client) == CONTENT
    with pytest.raises(ClientError, match="NoSuchKey"):
        get(client)
    assert get(client) == CONTENT


def test_any_function_of_a_request_decides(client: Any, proxy: S3Faults):
    proxy.decide = lambda request: Fault.SLOW_DOWN_503 if request.method == "HEAD" else None
    with pytest.raises(ClientError, match="503"):
        client.head_object(Bucket="lab", Key="proxy/object")
    assert get(client) == CONTENT

"""A bucket that fails while a version is published: one sentence, the right exit code, and `latest` whole."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from published_pipelines import published
from real_s3 import s3_server
from s3_faults import Fault, S3Faults

from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.publish.pull import fetch_verified
from kepler_train.publish.target import Target, open_target

pytestmark = pytest.mark.integration
FOR_GOOD = 1000  # times


@pytest.fixture
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Faults]:
    with S3Faults(s3_server(request.config)) as proxy:
        for name, value in proxy.client_environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
        monkeypatch.setattr("time.sleep", lambda _: None)  # between the tries of boto3
        yield proxy


@pytest.fixture
def target(proxy: S3Faults, tmp_path: Path) -> Target:
    """A target with one version."""
    target = open_target(f"s3://lab/{uuid.uuid4().hex}")
    published(target, tmp_path / "before", "lab", 1)
    proxy.clear()
    return target


@pytest.mark.parametrize(
    ("fault", "method", "kind", "words"),
    [
        (Fault.INTERNAL_500, "PUT", TryAgain, "did not answer: .*InternalError"),
        (Fault.SLOW_DOWN_503, "PUT", TryAgain, "did not answer: .*SlowDown"),
        (Fault.RESET, "PUT", TryAgain, "did not answer: Connection was closed"),
        (Fault.CHANGED_ON_THE_WAY, "PUT", TryAgain, "is not what was sent"),
        (Fault.CUT_BODY, "GET", TryAgain, "did not answer: "),
        (Fault.CLOCK_SKEW_403, "PUT", UserError, "its clock and that of this machine differ"),
        (Fault.EXPIRED_400, "PUT", UserError, r"as their time is over \(ExpiredToken\): renew AWS_ACCESS_KEY_ID"),
        (Fault.DENIED_403, "PUT", UserError, "refused PutObject .*: they lack the permission s3:PutObject on it"),
        (Fault.DENIED_403, "GET", UserError, "they lack the permission s3:(GetObject|ListBucket) on it"),
        (Fault.NO_BUCKET_404, "GET", UserError, "There is no bucket 'lab': create it or name another in s3://lab"),
        (Fault.FULL_507, "PUT", UserError, r"has no room for more \(XMinioStorageFull\): raise its quota"),
    ],
)
def test_a_store_that_fails_for_good_is_one_sentence_and_publishing_again_goes_on(
    target: Target, proxy: S3Faults, tmp_path: Path, fault: Fault, method: str, kind: type[KeplerTrainError], words: str
) -> None:
    first = target.latest("lab")
    proxy.inject(fault, method=method, times=FOR_GOOD, after=1 if method == "PUT" else 0)
    with pytest.raises(kind, match=words) as said:
        published(target, tmp_path, "lab", 2)
    assert len(str(said.value).splitlines()) == 1
    proxy.clear()
    assert target.latest("lab") == first
    fetch_verified(target, "lab", first, tmp_path / "first")
    second = published(target, tmp_path, "lab", 2).record.version
    assert target.latest("lab") == second
    fetch_verified(target, "lab", second, tmp_path / "second")


@pytest.mark.parametrize(
    ("fault", "method"),
    [
        (Fault.INTERNAL_500, "PUT"),
        (Fault.SLOW_DOWN_503, "GET"),
        (Fault.RESET, "PUT"),
        (Fault.LOST_ANSWER, "PUT"),
        (Fault.CUT_BODY, "GET"),
        (Fault.CHANGED_ON_THE_WAY, "PUT"),
    ],
)
def test_a_fault_that_passes_is_not_noticed(
    target: Target, proxy: S3Faults, tmp_path: Path, fault: Fault, method: str
) -> None:
    proxy.inject(fault, method=method, key="metadata.json" if method == "PUT" else "latest.json")
    second = published(target, tmp_path, "lab", 2).record.version
    assert proxy.faults() == [fault]
    assert target.latest("lab") == second
    fetch_verified(target, "lab", second, tmp_path / "second")


def test_a_large_file_that_is_changed_on_the_way_is_sent_again(target: Target, proxy: S3Faults, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * (80 << 10))  # 20 MB, three parts
    proxy.inject(Fault.CHANGED_ON_THE_WAY, method="PUT", key="large", after=1)
    target.store.upload(large, "large")
    assert target.store.etags("")["large"].endswith("-3")
    assert target.store.holds("large", large, "")

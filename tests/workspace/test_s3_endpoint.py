"""Keys of S3 go to the server of the installation, whatever bucket a run names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from s3_faults import S3Faults

from kepler_train.errors import UserError
from kepler_train.spec import RunSpec
from kepler_train.workspace import open_store

DIRECTORY_BUCKET = "mine--use1-az4--x-s3"
OUTPOST = "mine-o0b1d075431d83bebde8xz5w8ijx1qzlbp3i3kuse10--op-s3"


def urls_of(uri: str) -> list[str]:
    """Where a read would be sent; nothing is."""
    store = open_store(uri)
    urls: list[str] = []

    def stop(request: object, **_: object) -> None:
        urls.append(request.url)  # type: ignore[attr-defined]
        raise InterruptedError

    store._client.meta.events.register_last("before-send.s3", stop)  # type: ignore[union-attr]
    with pytest.raises(InterruptedError):
        store.read("latest.json")
    return urls


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    values = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.integration
@pytest.mark.parametrize("bucket", [DIRECTORY_BUCKET, OUTPOST, OUTPOST.replace("-o0", "-e0")])
@pytest.mark.parametrize(
    "ask",
    [
        lambda store, _: store.read("a"),
        lambda store, _: store.sizes("a"),
        lambda store, _: store.write("a", b""),
        lambda store, folder: store.download("a", folder),
        lambda store, folder: store.upload(folder / "file", "a"),
    ],
    ids=["read", "sizes", "write", "download", "upload"],
)
def test_a_bucket_whose_name_is_a_host_gets_no_request(
    proxy: S3Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket: str, ask: Callable[..., object]
):
    (tmp_path / "file").write_bytes(b"1")
    server = proxy.client_environment()["AWS_ENDPOINT_URL"].replace("127.0.0.1", "localhost")  # names get subdomains
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    RunSpec(publish_to=f"s3://{bucket}/models")  # by its form it is an address as others are
    store = open_store(f"s3://{bucket}/models")
    words = rf"s3://{bucket}/models is not at the S3 server of this installation, {server}, but at {bucket}\.\S+, which"
    with pytest.raises(UserError, match=words):
        ask(store, tmp_path)
    assert proxy.requests == []


@pytest.mark.usefixtures("keys")
def test_a_run_that_would_publish_elsewhere_ends_in_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kepler_train: Callable[..., tuple[int, list[str], list[str]]]
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:1")
    spec = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T02:00:00Z", "publish_to": f"s3://{OUTPOST}/models"}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    code, _, errors = kepler_train("run-step", "plan", "--workspace", "ws", "--run", "lab/1", "--spec", "spec.json")
    assert code == 2
    assert len(errors) == 1
    assert f"error: s3://{OUTPOST}/models is not at the S3 server of this installation, http://localhost:1" in errors[0]


@pytest.mark.usefixtures("keys")
def test_without_a_server_of_its_own_an_installation_has_all_of_aws():
    assert urls_of("s3://lab/models") == ["https://s3.amazonaws.com/lab/models/latest.json"]
    assert urls_of(f"s3://{DIRECTORY_BUCKET}/models") == [
        f"https://{DIRECTORY_BUCKET}.s3express-use1-az4.us-east-1.amazonaws.com/?session"
    ]


@pytest.mark.usefixtures("keys")
def test_a_bucket_that_is_called_as_a_host_is_a_path_at_the_own_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://s3.example:9000")
    for name in ("evil.example.com", "169.254.169.254", "a..b", "abc.mrap"):
        assert urls_of(f"s3://{name}/p") == [f"http://s3.example:9000/{name}/p/latest.json"]


@pytest.mark.parametrize("uri", ["s3://..", "s3://../admin", "s3://.", "s3://-/x", "s3://lab/../admin", "s3://lab/./x"])
def test_an_address_that_leaves_its_bucket_is_refused(uri: str):
    for use in (open_store, lambda address: RunSpec(publish_to=address)):
        with pytest.raises(ValueError if use is not open_store else UserError, match=re.escape(uri)):
            use(uri)

"""What S3 denies in passing is asked for again; what really is not there costs half a second, or nothing."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from s3_faults import Fault, S3Faults

from kepler_train.errors import TryAgain, UserError
from kepler_train.model_key import Family
from kepler_train.plan.previous import keep_previous
from kepler_train.publish.fetch import fetch_models
from kepler_train.publish.index import list_pipeline
from kepler_train.publish.target import open_target
from kepler_train.spec import RunSpec
from kepler_train.workspace import FileRecord, Run, fetch_listed, fetch_recorded, open_store
from kepler_train.workspace.s3 import S3Store

pytestmark = pytest.mark.integration

CONTENT = b'{"version": "20261114T020000Z-0123456789abcdef"}'
DENIALS = [Fault.WRONG_404, Fault.EMPTY_200, Fault.EMPTIED_200]


@pytest.fixture
def store(proxy: S3Faults) -> S3Store:
    """A folder of the bucket with one file."""
    made = open_store(f"s3://lab/doubts-{uuid.uuid4().hex}")
    assert isinstance(made, S3Store)
    made.write("lab/file", CONTENT)
    proxy.clear()
    return made


def methods(proxy: S3Faults) -> list[str]:
    return [request.method for request in proxy.requests]


@pytest.mark.parametrize("fault", DENIALS)
@pytest.mark.parametrize("times", [1, 2])
def test_a_file_that_is_denied_in_passing_is_read(store: S3Store, proxy: S3Faults, fault: Fault, times: int):
    proxy.inject(fault, method="GET", times=times)
    assert store.read("lab/file") == CONTENT
    assert methods(proxy) == ["GET"] * (times + 1)


@pytest.mark.parametrize("fault", DENIALS)
def test_a_file_that_is_denied_in_passing_is_hashed(store: S3Store, proxy: S3Faults, fault: Fault):
    proxy.inject(fault, method="GET")
    assert store.sha256("lab/file") == hashlib.sha256(CONTENT).hexdigest()
    assert proxy.faults() == [fault]


@pytest.mark.parametrize("fault", DENIALS)
@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_file_that_is_denied_in_passing_is_downloaded(
    store: S3Store, proxy: S3Faults, tmp_path: Path, fault: Fault, method: str
):
    proxy.inject(fault, method=method)
    assert store.download("lab/file", tmp_path).read_bytes() == CONTENT
    assert proxy.faults() == [fault]


@pytest.mark.parametrize("fault", [Fault.WRONG_404, Fault.EMPTY_200, Fault.EMPTIED_200, Fault.EMPTY_LISTING])
def test_a_folder_that_is_listed_as_empty_in_passing_is_listed(store: S3Store, proxy: S3Faults, fault: Fault):
    proxy.inject(fault, method="GET")
    assert store.sizes("lab") == {"lab/file": len(CONTENT)}
    assert proxy.faults() == [fault]


@pytest.mark.parametrize("fault", [Fault.EMPTY_LISTING, Fault.EMPTY_200])
def test_a_listing_that_ends_too_early_is_continued(
    store: S3Store, proxy: S3Faults, monkeypatch: pytest.MonkeyPatch, fault: Fault
):
    store.write("lab/more", b"four")
    store._client.meta.events.register(  # two pages without a thousand files
        "before-parameter-build.s3.ListObjectsV2", lambda params, **_: params.update(MaxKeys=1)
    )
    proxy.clear()
    proxy.inject(fault, method="GET", after=1)
    assert store.sizes("lab") == {"lab/file": len(CONTENT), "lab/more": 4}
    assert proxy.faults() == [fault]


@pytest.mark.parametrize("fault", [Fault.WRONG_404, Fault.EMPTY_200])
@pytest.mark.parametrize(
    "write",
    [
        lambda store, _: store.write("lab/file", b"new"),
        lambda store, _: store.update("lab/file", lambda _: b"new"),
        lambda store, file: store.upload(file, "lab/file"),
    ],
    ids=["write", "update", "upload"],
)
def test_a_write_that_was_answered_and_not_done_is_done(
    store: S3Store, proxy: S3Faults, tmp_path: Path, fault: Fault, write: Callable[[S3Store, Path], None]
):
    (tmp_path / "file").write_bytes(b"new")
    proxy.inject(fault, method="PUT")
    write(store, tmp_path / "file")
    assert proxy.faults() == [fault]
    assert store.read("lab/file") == b"new"


def test_a_server_that_answers_with_nothing_for_good_is_to_be_asked_later(store: S3Store, proxy: S3Faults):
    for method, ask in (
        ("GET", lambda: store.read("lab/file")),
        ("GET", lambda: store.sizes("lab")),
        ("PUT", lambda: store.write("lab/file", b"new")),
    ):
        proxy.clear()
        proxy.inject(Fault.EMPTY_200, method=method, times=9)
        with pytest.raises(TryAgain, match=r"^s3://lab/doubts-\w+ answered \w+ with nothing, 3 times\.$"):
            ask()
        assert methods(proxy) == [method] * 3


def test_what_is_not_there_is_asked_for_three_times_or_once(store: S3Store, proxy: S3Faults, tmp_path: Path):
    def requests(ask: Callable[[], object]) -> tuple[object, int]:
        proxy.clear()
        return ask(), len(proxy.requests)

    assert requests(lambda: store.read("none")) == (None, 3)
    assert requests(lambda: store.sha256("none")) == (None, 3)
    assert requests(lambda: store.sizes("none")) == ({}, 3)
    assert requests(lambda: store.download("none", tmp_path).exists()) == (False, 3)
    assert requests(lambda: store.read("none", recheck=False)) == (None, 1)
    assert requests(lambda: store.sizes("none", recheck=False)) == ({}, 1)
    assert requests(lambda: Run.named(store, "lab/1").manifest("train", recheck=False)) == (None, 1)


def test_an_empty_file_is_believed_in_the_end(store: S3Store, proxy: S3Faults, tmp_path: Path):
    store.write("empty", b"")
    assert store.read("empty") == b""
    assert store.download("empty", tmp_path).read_bytes() == b""
    assert store.sizes("") == {"empty": 0, "lab/file": len(CONTENT)}


def test_a_file_with_another_content_than_recorded_is_fetched_twice_before_it_is_refused(
    store: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    good = FileRecord(path="file", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
    fetched: list[bytes] = []
    download = store.download

    def sometimes_another(key: str, folder: Path) -> Path:
        path = download(key, folder)
        if not fetched:
            path.write_bytes(b"of another object")
        fetched.append(path.read_bytes())
        return path

    monkeypatch.setattr(store, "download", sometimes_another)
    path = fetch_recorded(store, "lab", good, tmp_path)
    assert path is not None
    assert (path.read_bytes(), len(fetched)) == (CONTENT, 2)
    fetched.clear()
    assert fetch_listed(store, "lab/file", len(CONTENT), tmp_path).read_bytes() == CONTENT
    assert len(fetched) == 2
    assert fetch_recorded(store, "lab", good.model_copy(update={"sha256": "0" * 64}), tmp_path) is None
    with pytest.raises(TryAgain, match=r"lab/file does not have the 1,000 bytes that it is listed with"):
        fetch_listed(store, "lab/file", 1000, tmp_path)


def test_a_run_finds_its_previous_models_although_the_pointer_is_denied(
    store: S3Store, proxy: S3Faults, tmp_path: Path
):
    version, family = "20261114T020000Z-0123456789abcdef", Family("rapl-sysfs", "AbsPower", "BPFOnly")
    store.write("lab/latest.json", CONTENT)
    store.write(f"lab/{version}/{family}/Linear_0/metadata.json", b"{}")
    store.write(
        f"lab/{version}/rapl-sysfs_AbsPower_model_metadata.csv",
        b"model_name,feature_group,mae,mape\nLinear_0,BPFOnly,2.5,4.2\n",
    )
    store._client.put_object(Bucket="lab", Key=f"{store.prefix}/lab/{version}/{family}/Linear_0/", Body=b"")
    proxy.clear()
    for key in ("latest.json", "metadata.json", "model_metadata.csv"):
        proxy.inject(Fault.WRONG_404, key=key)
    proxy.inject(Fault.EMPTY_LISTING, method="GET", key=version)
    (found,) = fetch_models(store.uri, "lab", family, tmp_path / "fetched") or []
    assert found.name == "Linear_0"
    assert proxy.faults() == [Fault.WRONG_404, Fault.EMPTY_LISTING, Fault.WRONG_404]
    spec = RunSpec(pipeline="lab", output_types=["AbsPower"], start="2026-11-15T00:00:00Z", end="2026-11-15T02:00:00Z")
    keep_previous(spec, store.uri, tmp_path / "plan")
    assert len(proxy.faults()) == 4
    assert [path.name for path in tmp_path.glob("plan/*/*/*/*/*")] == ["Linear_0"]


def test_the_page_of_somebody_else_is_not_overwritten_because_it_is_denied_once(store: S3Store, proxy: S3Faults):
    store.write("README.md", b"# Ours\n")
    proxy.clear()
    proxy.inject(Fault.WRONG_404, method="GET", key="README.md")
    list_pipeline(store.uri, "lab")
    assert proxy.faults() == [Fault.WRONG_404]
    assert store.read("README.md") == b"# Ours\n"


def test_a_version_that_somebody_changed_is_refused_although_its_listing_is_empty_once(
    store: S3Store, proxy: S3Faults, tmp_path: Path
):
    version = "20261114T020000Z-0123456789abcdef"
    (tmp_path / "model.zip").write_bytes(b"ours")
    store.write(f"lab/{version}/model.zip", b"evil")
    proxy.clear()
    proxy.inject(Fault.EMPTY_LISTING, method="GET", key=version)
    with pytest.raises(UserError, match=r"model\.zip was changed"):
        open_target(store.uri).add(tmp_path, "lab", version)
    assert store.read(f"lab/{version}/model.zip") == b"evil"

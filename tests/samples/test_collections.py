"""Collected data in a store: whole or not there, the same as pushed or refused. On a folder and on a real S3 server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from killing import ended, in_a_child
from real_s3 import s3_server

from kepler_train.errors import TryAgain, UserError
from kepler_train.samples import collections
from kepler_train.samples.collections import Collection, collections_of, find_collections, machines_in, pull, push
from kepler_train.workspace import FileStore, open_store

WINDOW = (datetime(2026, 11, 16, 2, tzinfo=UTC), datetime(2026, 11, 16, 4, tzinfo=UTC))


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.integration)])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    monkeypatch.setattr("os.fsync", lambda _: None)
    if request.param == "folder":
        return open_store(str(tmp_path / "store"))
    for name, value in s3_server(request.config).client_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    return open_store(f"s3://lab/{uuid.uuid4().hex}")


@pytest.fixture
def data(tmp_path: Path) -> Callable[..., Path]:
    def made(name: str = "first", **more: str) -> Path:
        folder = tmp_path / name
        files = {"kepler_query/joules.parquet": f"joules of {name}", "machine.json": "{}"} | more
        for file, content in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(content)
        return folder

    return made


def pushed(store: FileStore, folder: Path, date: str = "2026-11-16", replace: bool = False) -> tuple[Collection, bool]:
    return push(store, folder, "nx1", date, WINDOW, replace=replace)


def content(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_is_pulled_is_what_was_pushed(store: FileStore, data: Callable[..., Path], tmp_path: Path):
    folder = data(**{"schedule.json": '{"phases": []}'})
    collection, fresh = pushed(store, folder)
    assert fresh
    assert (collection.window, collection.size) == (WINDOW, sum(map(len, content(folder).values())))
    assert machines_in(store) == ["nx1"]
    found = find_collections(store, "nx1", [])
    assert found == [collection]
    assert (found[0].has("kepler_query"), found[0].has("schedule.json"), found[0].has("idle")) == (True, True, False)
    pull(store, found[0], tmp_path / "pulled")
    assert content(tmp_path / "pulled") == content(folder)
    assert content(data()) == content(folder)  # pushing takes nothing away


def test_the_same_again_changes_nothing_and_other_data_are_refused_or_replace(
    store: FileStore, data: Callable[..., Path], tmp_path: Path
):
    first, _ = pushed(store, data())
    before = store.sizes("nx1")
    assert pushed(store, data()) == (first, False)
    assert store.sizes("nx1") == before
    with pytest.raises(
        UserError, match=r"has other data of nx1 for 2026-11-16, and they are kept: .*--date 2026-11-16-2"
    ):
        pushed(store, data("late"))
    assert find_collections(store, "nx1", []) == [first]
    late, fresh = pushed(store, data("late"), replace=True)
    assert fresh
    assert find_collections(store, "nx1", []) == [late]
    assert not [key for key in store.sizes("nx1") if first.digest in key]  # nobody needs it any more
    with pytest.raises(TryAgain, match="were replaced: pull again"):
        pull(store, first, tmp_path / "pulled")
    pushed(store, data(), "2026-11-16-2")
    pushed(store, data(), "2026-11-02")
    assert list(collections_of(store, "nx1")) == ["2026-11-02", "2026-11-16", "2026-11-16-2"]


def test_a_killed_push_is_not_there_and_the_next_one_completes_it(
    store: FileStore, data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    folder = data()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "update", killed)  # all files are there, and no manifest
        with pytest.raises(KeyboardInterrupt):
            pushed(store, folder)
    assert len(store.sizes("nx1")) == 2
    assert collections_of(store, "nx1") == {}
    with pytest.raises(UserError, match=r"There (is no machine|are no data)"):
        find_collections(store, "nx1", [])
    assert pushed(store, folder)[1]
    assert list(collections_of(store, "nx1")) == ["2026-11-16"]


@pytest.mark.parametrize("replace", [False, True])
def test_of_two_pushers_at_once_one_wins_and_what_is_there_is_whole(
    store: FileStore, data: Callable[..., Path], tmp_path: Path, replace: bool
):
    folders = [data("one"), data("two")]
    children = [in_a_child(lambda folder=folder: pushed(store, folder, replace=replace)) for folder in folders]
    codes = [ended(pid) for pid in children]
    assert codes.count(0) == 2 if replace else 0 in codes
    (there,) = find_collections(store, "nx1", [])
    pull(store, there, tmp_path / "pulled")
    assert content(tmp_path / "pulled") in [content(folder) for folder in folders]


def test_a_changed_or_missing_file_is_refused(store: FileStore, data: Callable[..., Path], tmp_path: Path):
    collection, _ = pushed(store, data())
    key = next(key for key in store.sizes("nx1") if key.endswith("joules.parquet"))
    store.write(key, b"JOULES of first")
    with pytest.raises(UserError, match=r"joules\.parquet was changed: it is not what was pushed"):
        pull(store, collection, tmp_path / "changed")
    store.delete(key)
    with pytest.raises(UserError, match=r"joules\.parquet is missing"):
        pull(store, collection, tmp_path / "missing")


@pytest.mark.parametrize("path", ["../../outside", "/etc/passwd"])
def test_a_manifest_that_leads_elsewhere_is_refused(store: FileStore, data: Callable[..., Path], path: str):
    pushed(store, data())
    key = "nx1/data/2026-11-16/manifest.json"
    manifest = json.loads(store.read(key) or b"")
    manifest["files"][0]["path"] = path
    store.write(key, json.dumps(manifest).encode())
    with pytest.raises(UserError, match="leads out of its folder"):
        find_collections(store, "nx1", [])


@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", "2026-11-16/../x", "16.11.2026"])
def test_what_is_no_date_is_refused_by_name(tmp_path: Path, data: Callable[..., Path], date: str):
    with pytest.raises(UserError, match="is not a date: write it as 2026-11-16") as refused:
        pushed(open_store(str(tmp_path / "store")), data(), date)
    assert repr(date) in str(refused.value)
    assert collections.check_name("nx1", "2026-11-16-night") is None

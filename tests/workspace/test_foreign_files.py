"""Files that others put into a store end in a sentence: names that are no paths, endless files, links to nowhere."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

import pytest
from s3_faults import S3Faults

from kepler_train.errors import UserError
from kepler_train.model_key import Family
from kepler_train.publish import fetch
from kepler_train.publish.fetch import fetch_models
from kepler_train.publish.target import open_target
from kepler_train.samples.schedule import read_schedule
from kepler_train.strict_json import MOST_BYTES
from kepler_train.workspace import open_store

FAMILY = Family("rapl-sysfs", "AbsPower", "BPFOnly")


@pytest.mark.integration
def test_an_object_beside_a_folder_of_its_name_and_a_name_too_long_for_a_file_are_refused(
    proxy: S3Faults, tmp_path: Path
):
    store = open_store(f"s3://lab/foreign-{uuid.uuid4().hex}")
    store.write("lab/a", b"1")
    store.download("lab/a", tmp_path)
    long = f"lab/{'é' * 128}"  # 256 bytes
    for key, named in (("lab/a/b", f"{store.uri}/lab/a/b"), (long, long)):
        with pytest.raises(UserError) as refused:
            store.download(key, tmp_path)
        assert str(refused.value) == (
            f"{named!r} is no name of a file below a folder: it was not made by kepler-train, remove it."
        )


@pytest.mark.integration
def test_an_object_that_is_larger_than_any_of_ours_is_not_read_into_memory(proxy: S3Faults, tmp_path: Path):
    store = open_store(f"s3://lab/foreign-{uuid.uuid4().hex}")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    store.upload(tmp_path / "large", "lab/latest.json")
    with pytest.raises(UserError, match=r"latest\.json has 16,777,217 bytes and was not made by kepler-train"):
        open_target(store.uri).latest("lab")


def test_a_file_that_is_larger_than_any_of_ours_is_not_read_into_memory(tmp_path: Path):
    with (tmp_path / "README.md").open("wb") as file:
        file.truncate(1 << 40)  # takes no place on the disk
    with pytest.raises(UserError, match=r"README\.md has 1,099,511,627,776 bytes and was not made by kepler-train"):
        open_store(str(tmp_path)).read("README.md")


@pytest.mark.parametrize("kind", ["pipe", "device", "link to a device"])
def test_what_only_looks_like_a_file_is_refused_at_once(tmp_path: Path, kind: str):
    path = Path("/dev/zero") if kind == "device" else tmp_path / "schedule.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind != "device":
        path.symlink_to("/dev/zero")
    with pytest.raises(UserError, match=rf"^{path} is a device or a pipe, not a file\.$"):
        read_schedule(str(path))


def test_a_file_that_does_not_tell_its_size_is_read(tmp_path: Path):
    (tmp_path / "stat").symlink_to("/proc/self/status")
    assert (open_store(str(tmp_path)).read("stat") or b"").startswith(b"Name:")


def test_links_that_lead_nowhere_are_no_files(tmp_path: Path):
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "gone").symlink_to("nothing")
    (tmp_path / "file").write_bytes(b"1")
    assert open_store(str(tmp_path)).sizes("") == {"file": 1}


@pytest.mark.parametrize("target", ["..", "../..", "a b", "-x", "\n", "x" * 101])
def test_a_link_that_names_no_version_is_refused(tmp_path: Path, target: str):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "latest").symlink_to(target)
    there = open_target(str(tmp_path))
    for ask in (lambda: there.latest("lab"), lambda: there.move_latest("lab", lambda _: "new")):
        with pytest.raises(UserError, match=rf"^{re.escape(str(tmp_path))}/lab/latest does not name a version"):
            ask()
    assert str((tmp_path / "lab" / "latest").readlink()) == target


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MOST_BYTES", 2)])
def test_a_folder_that_is_larger_than_any_model_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
):
    model = tmp_path / "db/lab" / str(FAMILY) / "Linear_0"
    model.mkdir(parents=True)
    for name in "abc":
        (model / name).write_bytes(b"1")
    monkeypatch.setattr(fetch, limit, value)
    with pytest.raises(UserError, match=r"Linear_0 is no model: it has 3 files with 3 bytes"):
        fetch_models(str(tmp_path / "db"), "lab", FAMILY, tmp_path / "fetched")
    assert not (tmp_path / "fetched").exists()

"""Zips of models, and zips that pretend to be one."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.models import archive
from kepler_train.models.archive import opened, write_archive

Writing = Callable[[zipfile.ZipFile], None]
CONTENT = {"metadata.json": json.dumps({"schema_version": 3, "words": list(range(500))}).encode(), "b.txt": b"b" * 300}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The zip of a folder with two files."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    write_archive(folder, tmp_path / "whole.zip")
    return tmp_path / "whole.zip"


def zipped(tmp_path: Path, write: Writing) -> Path:
    file = tmp_path / "model.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("metadata.json", "{}")
        write(target)
    return file


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo("x")
    found.filename, found.external_attr, found.compress_type = name, mode << 16, zipfile.ZIP_DEFLATED
    return found


def test_an_archive_gives_back_its_files_and_leaves_nothing(whole: Path) -> None:
    with opened(whole) as folder:
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == CONTENT
    assert not folder.exists()


def test_other_tools_read_the_archive(whole: Path) -> None:
    assert subprocess.run(["python3", "-m", "zipfile", "-t", whole], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    "name",
    [
        "../escape",
        "/etc/escape",
        "a/../../escape",
        "folder/file",
        "folder/",
        "..",
        ".",
        "",
        "C:escape",
        "..\\escape",
        "file\0.json",
        "n" * 300,
        "a\nb",
        "\x1b[2J",
        "s3://KEY:SECRET@bucket",
    ],
)
def test_a_name_that_is_no_plain_name_is_refused(name: str, tmp_path: Path) -> None:
    file = zipped(tmp_path, lambda target: target.writestr(entry(name), b"gotcha"))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=r"nothing is read|cut short or not a zip"), opened(file):
        pytest.fail("it was read")
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755, stat.S_IFIFO, stat.S_IFCHR])
def test_what_is_no_file_is_refused(mode: int, tmp_path: Path) -> None:
    file = zipped(tmp_path, lambda target: target.writestr(entry("passwd", mode), b"/etc/passwd"))
    with pytest.raises(UserError, match="a link or a device"), opened(file):
        pytest.fail("it was read")


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_what_is_packed_in_another_way_is_refused(how: int, tmp_path: Path) -> None:
    file = zipped(tmp_path, lambda target: target.writestr("a.json", b"{}", how))
    with pytest.raises(UserError, match="packed in another way than deflated"), opened(file):
        pytest.fail("it was read")


def test_a_directory_of_very_many_files_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.zip"
    with zipfile.ZipFile(file, "w") as target:
        for number in range(10_001):
            target.writestr(zipfile.ZipInfo(str(number)), b"")
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda _: pytest.fail("it was read"))
    monkeypatch.setattr(archive, "_CHUNK", 1000)  # bytes, so that entries lie across two
    with pytest.raises(UserError, match="holds more than 10000 files"), opened(file):
        pytest.fail("it was read")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    file = zipped(tmp_path, lambda target: target.writestr("zeros", bytes(30 * 2**20)))
    with pytest.raises(UserError, match="packed more than 500-fold"), opened(file):
        pytest.fail("it was read")


def test_more_than_a_model_can_be_is_refused(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="more than 0 MB when unpacked"), opened(whole):
        pytest.fail("it was read")
    monkeypatch.setattr(archive, "MOST_FILES", 1)
    with pytest.raises(UserError, match="holds 2 files"), opened(whole):
        pytest.fail("it was read")


def test_a_size_that_is_not_declared_is_refused(whole: Path) -> None:
    with zipfile.ZipFile(whole) as source:
        size = source.getinfo("b.txt").file_size.to_bytes(4, "little")
    content = whole.read_bytes()
    assert content.count(size) == 2  # beside the file and in the directory at the end
    for declared in (10, 100_000):
        whole.write_bytes(content.replace(size, declared.to_bytes(4, "little")))
        with pytest.raises(UserError, match=r"not as large as it says|cut short or not a zip"), opened(whole):
            pytest.fail("it was read")


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        file = zipped(tmp_path, lambda target: target.writestr("metadata.json", "[]"))
    with pytest.raises(UserError, match="two files of one name"), opened(file):
        pytest.fail("it was read")


def test_an_encrypted_archive_is_refused(whole: Path) -> None:
    with zipfile.ZipFile(whole) as source:
        flags = [info.header_offset + 6 for info in source.infolist()]
    content = bytearray(whole.read_bytes())
    for position in flags:
        content[position] |= 1
    directory = content.index(b"PK\1\2")
    content[directory + 8] |= 1
    whole.write_bytes(content)
    with pytest.raises(UserError, match="is encrypted"), opened(whole):
        pytest.fail("it was read")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_an_archive_that_was_cut_or_changed_is_refused_in_a_sentence_or_reads_as_it_was(
    data: st.DataObject, whole: Path
) -> None:
    content = bytearray(whole.read_bytes())
    if data.draw(st.booleans(), "cut"):
        content = content[: data.draw(st.integers(0, len(content) - 1), "length")]
    else:
        position = data.draw(st.integers(0, len(content) - 1), "position")
        content[position] ^= data.draw(st.integers(1, 255), "change")
    spoilt = whole.with_name("spoilt.zip")
    spoilt.write_bytes(content)
    found: dict[str, bytes] = {}
    with suppress(UserError), opened(spoilt) as folder:
        found = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert set(found.values()) <= set(CONTENT.values())  # a changed time or name, never changed content
    assert sorted(path.name for path in whole.parent.iterdir()) == ["source", "spoilt.zip", "whole.zip"]


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        assert folder == tmp_path
    shutil.rmtree(tmp_path)
    with pytest.raises(UserError, match="There is no model"), opened(tmp_path):
        pytest.fail("it was read")

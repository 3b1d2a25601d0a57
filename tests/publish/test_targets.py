"""A version appears whole, and `latest` moves to it in one step, never back in time."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest
from killing import ended, in_a_child, killed_at_each_point
from publishing import FILES, FIRST, SECOND, THIRD, Publishing, export

from kepler_train.errors import UserError
from kepler_train.model_key import Family
from kepler_train.publish.fetch import fetch_models
from kepler_train.publish.target import open_target, unless_older
from kepler_train.workspace import open_store


def test_latest_is_the_version_of_the_newest_window_whatever_the_order(publishing: Publishing):
    uri = publishing.new()
    assert publishing.publish(uri, SECOND) == SECOND
    assert publishing.publish(uri, THIRD) == THIRD
    assert publishing.publish(uri, FIRST) == THIRD  # a backfill of an older night
    assert publishing.latest(uri) == THIRD
    assert set(open_store(uri).sizes("lab")) >= {
        f"lab/{version}/{name}" for version in (FIRST, SECOND, THIRD) for name in FILES
    }


def test_the_same_window_trained_again_is_the_latest_whatever_its_digest(publishing: Publishing):
    uri = publishing.new()
    again = SECOND.replace("00000002", "00000001")
    assert [publishing.publish(uri, version) for version in (SECOND, again, SECOND)] == [SECOND, again, SECOND]


def test_models_come_back_from_the_latest_version(publishing: Publishing, tmp_path: Path):
    uri, family = publishing.new(), Family("rapl-sysfs", "AbsPower", "BPFOnly")
    assert fetch_models(uri, "lab", family, tmp_path / "none") is None
    for version in (SECOND, THIRD, FIRST):
        export(publishing.folder / "exports", version)
        model = publishing.folder / "exports" / version / str(family) / "Linear_0"
        model.mkdir()
        (model / "metadata.json").write_text(version)
        publishing.publish(uri, version)
    (found,) = fetch_models(uri, "lab", family, tmp_path / "some") or []
    assert (found.name, (found / "metadata.json").read_text()) == ("Linear_0", THIRD)
    assert fetch_models(uri, "lab", Family("rapl-sysfs", "AbsPower", "Basic"), tmp_path / "others") == []


def test_publishing_the_same_version_again_changes_nothing(publishing: Publishing):
    uri = publishing.new()
    publishing.publish(uri, FIRST)
    before = _times(publishing, uri)
    assert publishing.publish(uri, FIRST) == FIRST
    assert _times(publishing, uri) == before
    assert len(before) == len(FILES) + 1  # and latest


MODEL = FILES[1]
TAMPERED = {
    "another size": (f"lab/{SECOND}/{MODEL}", b"evil", "was changed"),
    "the same size": (f"lab/{SECOND}/{MODEL}", b"!" * len(f"{SECOND} {MODEL}"), "was changed"),
    "one file more": (f"lab/{SECOND}/rapl-sysfs/AbsPower/BPFOnly/evil.zip", b"evil", "was added to it"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_published_version_that_somebody_changed_is_neither_trusted_nor_overwritten(publishing: Publishing, how: str):
    uri, (key, content, words) = publishing.new(), TAMPERED[how]
    publishing.publish(uri, FIRST)
    publishing.publish(uri, SECOND)
    open_store(uri).write(key, content)
    before = _times(publishing, uri)
    with pytest.raises(UserError) as refused:
        publishing.publish(uri, SECOND)
    assert str(refused.value).startswith(
        f"The version {SECOND} of lab at {uri} is not what was published: {key} {words}."
    )
    assert open_store(uri).read(key) == content
    assert _times(publishing, uri) == before
    assert publishing.publish(uri, FIRST) == SECOND  # other versions are not touched by that
    assert publishing.publish(uri, THIRD) == THIRD


def test_a_version_in_a_folder_that_lacks_a_file_is_refused_as_it_came_whole(tmp_path: Path):
    publishing = Publishing("folder", tmp_path)
    uri = publishing.new()
    publishing.publish(uri, FIRST)
    (Path(uri) / "lab" / FIRST / MODEL).unlink()
    with pytest.raises(UserError, match=rf"lab/{FIRST}/{MODEL} was removed from it"):
        publishing.publish(uri, FIRST)


def test_the_version_of_another_publisher_at_the_same_moment_is_compared_too(tmp_path: Path, monkeypatch):
    publishing = Publishing("folder", tmp_path)
    uri, source = publishing.new(), export(tmp_path / "exports", FIRST)
    target, place = open_target(uri), Path(uri) / "lab" / FIRST

    def overtaken(self: Path, there: Path) -> None:
        (there / "evil").mkdir(parents=True)
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(Path, "rename", overtaken)
    with pytest.raises(UserError, match="is not what was published"):
        target.add(source, "lab", FIRST)
    assert [path.name for path in place.iterdir()] == ["evil"]


@pytest.mark.integration
def test_what_a_killed_publisher_has_uploaded_is_compared_and_not_sent_again(publishing: Publishing):
    if publishing.kind != "s3":
        pytest.skip("a folder is renamed into its place whole")
    uri = publishing.new()
    source = export(publishing.folder / "exports", FIRST)
    store, target = open_store(uri), open_target(uri)
    store.upload(source / FILES[0], f"lab/{FIRST}/{FILES[0]}")
    sent: list[str] = []
    target.store._client.meta.events.register("before-send.s3", lambda request, **_: sent.append(request.method))
    target.add(source, "lab", FIRST)
    assert sent == ["GET", "PUT", "PUT"]  # a listing, whose ETags tell what is there, and the two files that are not


def test_versions_of_before_with_eight_digits_are_read_and_superseded(publishing: Publishing, tmp_path: Path):
    uri, family = publishing.new(), Family("rapl-sysfs", "AbsPower", "BPFOnly")
    after = FIRST + "0" * 24
    for version in (FIRST, after):  # of one window
        export(publishing.folder / "exports", version)
        model = publishing.folder / "exports" / version / str(family) / "Linear_0"
        model.mkdir()
        (model / "metadata.json").write_text(version)
        assert publishing.publish(uri, version) == version
        (found,) = fetch_models(uri, "lab", family, tmp_path / version) or []
        assert (found / "metadata.json").read_text() == version
    assert publishing.publish(uri, THIRD) == THIRD


@pytest.mark.parametrize("name", ["../../../../../../evil", "/evil", "./evil", "a\0evil"])
def test_an_object_whose_name_leads_elsewhere_is_not_fetched(
    publishing: Publishing, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    uri, family = publishing.new(), Family("rapl-sysfs", "AbsPower", "BPFOnly")
    publishing.publish(uri, FIRST)
    hostile = f"lab/{FIRST}/{family}/Linear_0/{name}"  # S3 allows it, if not every server does
    monkeypatch.setattr(type(open_store(uri)), "sizes", lambda *_: {hostile: 4})
    with pytest.raises(UserError, match="is no name of a file below a folder"):
        fetch_models(uri, "lab", family, tmp_path / "a" / "b" / "c")
    assert list(tmp_path.rglob("*evil*")) == []


def test_the_exported_files_are_left_as_they_were(publishing: Publishing):
    uri = publishing.new()
    publishing.publish(uri, FIRST)
    source = publishing.folder / "exports" / FIRST
    assert {name: (source / name).read_text() for name in FILES} == {name: f"{FIRST} {name}" for name in FILES}


def test_killed_at_any_point_latest_is_a_whole_version_the_old_one_or_at_last_the_new_one(publishing: Publishing):
    uris: list[str] = []

    def second(k: int):
        uris.append(publishing.new())
        publishing.publish(uris[-1], FIRST)
        return lambda count: publishing.publish(uris[-1], SECOND, count)

    seen = []
    for _ in killed_at_each_point(second):
        seen.append(publishing.latest(uris[-1]))  # fails when it is not whole
        assert publishing.publish(uris[-1], SECOND) == SECOND
        assert publishing.latest(uris[-1]) == SECOND
    assert list(dict.fromkeys(seen)) == [FIRST, SECOND]
    # S3: a listing, three times as it is empty, three files, the old pointer read, the new one written.
    assert publishing.kind == "folder" or seen == [FIRST] * 8 + [SECOND]


def test_after_a_kill_the_next_publish_leaves_nothing_but_versions(tmp_path: Path):
    publishing, uris = Publishing("folder", tmp_path), []

    def first(k: int):
        uris.append(publishing.new())
        return lambda count: publishing.publish(uris[-1], FIRST, count)

    for _ in killed_at_each_point(first):
        publishing.publish(uris[-1], SECOND)
        names = {path.name for path in (Path(uris[-1]) / "lab").iterdir()}
        assert {SECOND, "latest"} <= names <= {FIRST, SECOND, "latest", ".latest.lock"}
        assert list((Path(uris[-1]) / ".scratch").iterdir()) == []


def test_a_reader_that_never_rests_never_misses_the_latest_models(publishing: Publishing):
    uri = publishing.new()
    publishing.publish(uri, f"{20260000}T000000Z-first")
    publishers = os.pipe()

    def read_until_told() -> None:
        os.set_blocking(publishers[0], False)
        seen: list[str] = []
        while True:
            if publishing.kind == "folder":  # through the link, as the model server does
                said = (Path(uri) / "lab" / "latest" / "metadata.json").read_text().split()[0]
            else:
                said = publishing.latest(uri)
            assert said >= (seen[-1] if seen else ""), "back in time"
            if said not in seen:
                seen.append(said)
            try:
                if os.read(publishers[0], 1):
                    assert len(seen) > 2, f"the reader saw only {seen}"
                    return
            except BlockingIOError:
                pass

    reader = in_a_child(read_until_told)
    versions = [f"2026{night:04d}T020000Z-{night:08d}" for night in range(1, 60 if publishing.kind == "folder" else 12)]
    for version in versions:
        publishing.publish(uri, version)
    os.write(publishers[1], b"!")
    assert ended(reader) == 0
    assert publishing.latest(uri) == versions[-1]


def test_publishers_at_once_end_at_the_newest_window(publishing: Publishing):
    rounds = 10 if publishing.kind == "folder" else 3
    for uri in [publishing.new() for _ in range(rounds)]:
        versions = [f"2026112{night}T020000Z-0000000{night}" for night in range(1, 6)]
        children = [in_a_child(partial(publishing.publish, uri, version)) for version in versions]
        assert [ended(pid) for pid in children] == [0] * 5
        assert publishing.latest(uri) == "20261125T020000Z-00000005"


def test_the_same_version_published_by_two_at_once_is_there_once(publishing: Publishing):
    uri = publishing.new()
    export(publishing.folder / "exports", FIRST)
    children = [in_a_child(lambda: publishing.publish(uri, FIRST)) for _ in range(3)]
    assert [ended(pid) for pid in children] == [0, 0, 0]
    assert publishing.latest(uri) == FIRST


def test_s3_readers_follow_a_pointer_that_is_written_last(publishing: Publishing):
    if publishing.kind != "s3":
        pytest.skip("a folder has a link")
    uri = publishing.new()
    source = export(publishing.folder / "exports", FIRST)
    target = open_target(uri)
    sent: list[str] = []
    target.store._client.meta.events.register(
        "before-send.s3", lambda request, **_: sent.append(f"{request.method} {request.url.split('/lab/')[-1]}")
    )
    target.add(source, "lab", FIRST)
    target.move_latest("lab", unless_older(FIRST))
    puts = [line for line in sent if line.startswith("PUT")]
    assert sorted(puts[:-1]) == [f"PUT {FIRST}/{name}" for name in FILES]  # several at once
    assert puts[-1] == "PUT latest.json"
    assert json.loads(open_store(uri).read("lab/latest.json") or b"") == {"version": FIRST}


def test_a_pointer_that_names_no_version_is_one_sentence(publishing: Publishing):
    if publishing.kind != "s3":
        pytest.skip("a folder has a link")
    uri = publishing.new()
    for pointer in ("[1]", '{"version": ""}', '{"version": "../../other"}', "[" * 100_000):
        open_store(uri).write("lab/latest.json", pointer.encode())
        with pytest.raises(UserError, match=r"lab/latest\.json does not name a version: remove it and publish again"):
            publishing.publish(uri, FIRST)


def test_a_folder_in_the_place_of_the_link_is_one_sentence(tmp_path: Path):
    publishing = Publishing("folder", tmp_path)
    uri = publishing.new()
    (Path(uri) / "lab" / "latest").mkdir(parents=True)
    with pytest.raises(UserError, match=r"The folder .*/lab cannot be written: Is a directory"):
        publishing.publish(uri, FIRST)


def test_a_target_below_a_file_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"The folder .*/file/models cannot be written: Not a directory"):
        Publishing("folder", tmp_path).publish(str(tmp_path / "file" / "models"), FIRST)


def _times(publishing: Publishing, uri: str) -> dict[str, object]:
    """When each file of a target was last written."""
    if publishing.kind == "s3":
        store = open_target(uri).store
        listed = store._client.list_objects_v2(Bucket="lab", Prefix=f"{store.prefix}/lab/")["Contents"]
        return {item["Key"]: (item["LastModified"], item["ETag"]) for item in listed}
    home = Path(uri) / "lab"
    files = [path for path in home.rglob("*") if path.is_file() and ".lock" not in path.name]
    return {str(path): path.lstat().st_mtime_ns for path in [*files, home / "latest"]}

"""What is known of versions is recorded beside them, and of all pipelines in one index."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from killing import ended, in_a_child
from published_pipelines import pipeline, published, window
from publishing import Publishing
from pydantic import ValidationError

from kepler_train.errors import TryAgain, UserError
from kepler_train.publish.ledger import change_versions, now, read_versions
from kepler_train.publish.publishing import pack
from kepler_train.publish.retention import prune
from kepler_train.publish.store_index import read_index
from kepler_train.publish.target import open_target, unless_older
from kepler_train.publish.version_record import Versions
from kepler_train.spec import RunSpec
from kepler_train.workspace import open_store


def versions_of(uri: str) -> list[dict[str, object]]:
    return json.loads(open_store(uri).read("lab/versions.json") or b"")["versions"]


def version_folders(uri: str) -> list[str]:
    """The versions that have files: the S3 server shows empty folders for a while."""
    return sorted({key.split("/")[1] for key in open_store(uri).sizes("lab") if key.count("/") > 1} - {"latest"})


def test_each_version_has_a_record_of_what_it_is(publishing: Publishing, tmp_path: Path) -> None:
    uri = publishing.new()
    target = open_target(uri)
    published(target, tmp_path, "lab", 2, mae=2.5)
    published(target, tmp_path, "lab", 1, mae=1.5)  # a backfill
    older, newer = versions_of(uri)
    assert [older["version"][:8], newer["version"][:8]] == ["20261101", "20261102"]
    assert newer["window"] == ["2026-11-02T00:00:00Z", "2026-11-02T02:00:00Z"]
    figure = {"mae": 2.5, "mape": 4.2, "protocol": "blocked"}
    model = "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0"
    assert newer["errors"] == {"rapl-sysfs/AbsPower": {**figure, "model": model}}
    assert (newer["models"], newer["node_types"], newer["signed"], newer["pinned"]) == (1, [0], False, False)
    place = open_store(uri).sizes(f"lab/{newer['version']}")
    assert newer["size"] == sum(place.values())
    assert all(one["published"].startswith(f"{now():%Y-%m-%d}T") for one in (older, newer))
    assert [(one["promoted"], one["reason"]) for one in (older, newer)] == [
        (False, "The latest version is of a newer window."),
        (True, ""),
    ]


def test_the_index_has_the_latest_version_of_every_pipeline(publishing: Publishing, tmp_path: Path) -> None:
    target = open_target(publishing.new())
    for name, night in (("b", 1), ("a", 1), ("a", 2)):
        published(target, tmp_path, name, night, mae=float(night))
    entries = json.loads(target.store.read("index.json") or b"")["pipelines"]
    assert {name: (entry["latest"][:8], entry["versions"]) for name, entry in entries.items()} == {
        "a": ("20261102", 2),
        "b": ("20261101", 1),
    }
    assert entries["a"]["errors"]["rapl-sysfs/AbsPower"]["mae"] == 2.0
    assert read_index(target)["a"].published is not None


def test_a_target_of_before_is_read_as_it_is_and_recorded_with_the_next_version(
    publishing: Publishing, tmp_path: Path
) -> None:
    uri = publishing.new()
    target = open_target(uri)
    for name, night in (("lab", 1), ("lab", 2), ("other", 1)):
        exported = pipeline(tmp_path / f"{name}{night}", name, night)
        version = f"202611{night:02d}T020000Z-0000000{night}"
        target.add(exported, name, version)
        target.move_latest(name, unless_older(version))
    store = open_store(uri)
    for name in ("lab", "other"):
        assert store.read(f"{name}/versions.json") is None
    assert {name: (entry.latest[-1], entry.versions) for name, entry in read_index(target).items()} == {
        "lab": ("2", 2),
        "other": ("1", 1),
    }
    assert [record.promoted for record in read_versions(target, "lab").versions] == [False, True]
    published(target, tmp_path, "lab", 3)
    assert [record["version"][:8] for record in versions_of(uri)] == ["20261101", "20261102", "20261103"]
    assert sorted(json.loads(store.read("index.json") or b"")["pipelines"]) == ["lab", "other"]


@pytest.mark.integration
def test_what_a_killed_publisher_left_in_a_bucket_is_no_version(publishing: Publishing, tmp_path: Path) -> None:
    if publishing.kind != "s3":
        pytest.skip("a folder is renamed into its place whole")
    target = open_target(publishing.new())
    version, package = pack(pipeline(tmp_path / "export", "lab", 1), window(1)[1], tmp_path)
    target.store.upload(package / "metadata.json", f"lab/{version}/metadata.json")
    assert read_versions(target, "lab").versions == []


def test_publishing_again_changes_no_record(publishing: Publishing, tmp_path: Path) -> None:
    target = open_target(publishing.new())
    published(target, tmp_path, "lab", 1)
    before = target.store.read("lab/versions.json")
    published(target, tmp_path, "lab", 1)
    assert target.store.read("lab/versions.json") == before


def test_publishers_at_once_are_all_recorded(publishing: Publishing, tmp_path: Path) -> None:
    target = open_target(publishing.new())
    nights = range(1, 6)

    def publish(night: int) -> None:
        published(open_target(target.uri), tmp_path, "lab", night)

    assert [ended(pid) for pid in [in_a_child(partial(publish, night)) for night in nights]] == [0] * 5
    versions = read_versions(target, "lab")
    assert [record.version[:8] for record in versions.versions] == [f"2026110{night}" for night in nights]
    entry = read_index(target)["lab"]
    assert (entry.latest[:8], entry.versions) == ("20261105", 5)
    written = json.loads(target.store.read("index.json") or b"")["pipelines"]["lab"]
    assert (written["latest"][:8], written["versions"]) == ("20261105", 5)


def test_the_newest_versions_are_kept_and_those_that_latest_or_a_pin_names(
    publishing: Publishing, tmp_path: Path
) -> None:
    uri = publishing.new()
    target = open_target(uri)
    names = [published(target, tmp_path, "lab", night).record.version for night in range(1, 8)]
    pin = names[1]
    change_versions(target, "lab", lambda them: them.with_record(them.of(pin).model_copy(update={"pinned": True})))
    target.move_latest("lab", lambda _: names[2])
    assert prune(target, "lab", 3) == [names[0], names[3]]
    kept = [names[1], names[2], *names[4:]]
    assert [record["version"] for record in versions_of(uri)] == kept
    assert version_folders(uri) == kept
    assert prune(target, "lab", 3) == []
    assert prune(target, "lab", 0) == []


def test_a_removal_that_was_killed_is_finished_by_the_next(publishing: Publishing, tmp_path: Path) -> None:
    target = open_target(publishing.new())
    names = [published(target, tmp_path, "lab", night).record.version for night in (1, 2)]
    long_ago = now().replace(year=2025)

    def began(them: Versions) -> Versions:
        return them.without(names[:1]).model_copy(update={"removing": {names[0]: long_ago}})

    change_versions(target, "lab", began)
    assert prune(target, "lab", 3) == names[:1]
    assert version_folders(target.uri) == names[1:]
    assert read_versions(target, "lab").removing == {}


def test_a_version_that_is_being_removed_is_not_written_at_the_same_time(
    publishing: Publishing, tmp_path: Path
) -> None:
    target = open_target(publishing.new())
    version = published(target, tmp_path, "lab", 1).record.version
    change_versions(
        target, "lab", lambda them: them.without([version]).model_copy(update={"removing": {version: now()}})
    )
    with pytest.raises(TryAgain, match=rf"The version {version} of lab at .* is being removed"):
        published(target, tmp_path, "lab", 1)


def test_a_record_file_of_something_else_is_one_sentence(publishing: Publishing, tmp_path: Path) -> None:
    target = open_target(publishing.new())
    target.store.write("lab/versions.json", b'{"versions": [{"name": 3}]}')
    with pytest.raises(UserError, match=r"lab/versions\.json cannot be read: versions\.0\.version is missing or wrong"):
        published(target, tmp_path, "lab", 1)


@pytest.mark.parametrize(("keep", "good"), [(0, True), (1, False), (2, False), (3, True), (-1, False)])
def test_at_least_three_versions_are_kept(keep: int, good: bool) -> None:
    if good:
        assert RunSpec(keep=keep).keep == keep
        return
    with pytest.raises(ValidationError):
        RunSpec(keep=keep)

"""What a killed publisher leaves behind is seen through, and removed by the next."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from published_pipelines import pipeline, published, window
from publishing import Publishing

from kepler_train.publish.bucket import BucketTarget
from kepler_train.publish.publishing import pack, publish_version
from kepler_train.publish.store_index import expect_change, index_pipeline, read_index
from kepler_train.publish.target import open_target


def test_a_list_is_right_after_a_publisher_was_killed_before_it_wrote_the_index(
    publishing: Publishing, tmp_path: Path
) -> None:
    target = open_target(publishing.new())
    published(target, tmp_path, "lab", 1)
    published(target, tmp_path, "other", 1)
    expect_change(target, "lab")
    version, package = pack(pipeline(tmp_path / "second", "lab", 2), window(2)[1], tmp_path / "packed")
    publish_version(target, package, "lab", version, window(2))
    # Here it is killed: `latest` has moved, and the index has the version before.
    entries = read_index(target)
    assert {name: (entry.latest[:8], entry.versions) for name, entry in entries.items()} == {
        "lab": (version[:8], 2),
        "other": ("20261101", 1),
    }
    index_pipeline(target, "lab")
    assert b'"changing":[]' in (target.store.read("index.json") or b"")
    assert read_index(target) == entries


def test_parts_of_an_upload_that_was_killed_long_ago_are_removed(publishing: Publishing, tmp_path: Path) -> None:
    target = open_target(publishing.new())
    published(target, tmp_path, "lab", 1)
    if not isinstance(target, BucketTarget):
        pytest.skip("a folder has no parts of uploads")
    store = target.store
    for name in ("lab/20261102T020000Z-1/large", "other/large"):
        place = {"Bucket": store.bucket, "Key": store._key(name)}
        upload = store._client.create_multipart_upload(**place)["UploadId"]
        store._client.upload_part(**place, UploadId=upload, PartNumber=1, Body=b"half")
    assert store.end_abandoned_uploads("lab") == 0  # somebody may be at it
    assert store.end_abandoned_uploads("lab", timedelta(0)) == 1
    assert store.end_abandoned_uploads("lab", timedelta(0)) == 0
    assert store.end_abandoned_uploads("other", timedelta(0)) == 1

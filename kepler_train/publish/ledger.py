"""Read and change `versions.json` of a pipeline. A target without it is read as if it had one, made of what is there.

A record names a version only after all its files are there, so what is recorded is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from kepler_train.export.arguments import ARGUMENTS
from kepler_train.publish.readers import let_readers_in
from kepler_train.publish.sums import SIGNATURE, SUMS
from kepler_train.publish.target import Target
from kepler_train.publish.version import is_version, window_end_of
from kepler_train.publish.version_record import VERSIONS, VersionRecord, Versions, describe_version
from kepler_train.workspace.folder import FolderStore


def read_versions(target: Target, pipeline: str) -> Versions:
    """Return the versions of a pipeline; none where nothing was published."""
    return _versions(target, pipeline, target.store.read(f"{pipeline}/{VERSIONS}"))


def change_versions(target: Target, pipeline: str, change: Callable[[Versions], Versions | None]) -> Versions:
    """Change the versions of a pipeline as if nobody else could at the same time; return what they are then.

    `change` is called again when somebody was quicker; None leaves everything as it is.
    """
    result = Versions()

    def changed(before: bytes | None) -> bytes | None:
        nonlocal result
        result = _versions(target, pipeline, before)
        after = change(result)
        if after is None or (after == result and before is not None):
            return None
        result = after
        return after.as_bytes()

    target.store.update(f"{pipeline}/{VERSIONS}", changed)
    let_all_read(target, f"{pipeline}/{VERSIONS}")
    return result


def let_all_read(target: Target, key: str) -> None:
    """Let those who may read the folder of a target read a file in it."""
    if isinstance(target.store, FolderStore) and (target.store.root / key).exists():
        let_readers_in(target.store.root, [target.store.root / key])


def version_folders(target: Target, pipeline: str) -> list[str]:
    """Return the names of the folders of a pipeline that may be versions."""
    return [name for name in target.store.folders(pipeline) if is_version(name) and window_end_of(name)]


def now() -> datetime:
    """Return the time, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def _versions(target: Target, pipeline: str, content: bytes | None) -> Versions:
    if content is not None:
        return Versions.read(content, f"{target.uri}/{pipeline}/{VERSIONS}")
    latest = target.latest(pipeline)
    found = [_describe(target, pipeline, name, name == latest) for name in version_folders(target, pipeline)]
    return Versions(versions=[record for record in found if record])


def _describe(target: Target, pipeline: str, version: str, latest: bool) -> VersionRecord | None:
    """Return the record of a version that has none; None for what a killed publisher has left of one in a bucket.

    Of the files that make a version, the list of check sums is written last, and the arguments before there was one.
    """
    home = f"{pipeline}/{version}"
    sizes = target.store.sizes(home)
    if not latest and not {f"{home}/{SUMS}", f"{home}/{ARGUMENTS}"} & sizes.keys():
        return None
    record = describe_version(target.store.read, pipeline, version, sizes)
    reason = "It was published before versions were recorded."
    signed = f"{home}/{SIGNATURE}" in sizes
    return record.model_copy(update={"promoted": latest, "reason": reason, "signed": signed})

"""A version that is there already: the same as what is to be published, or changed by somebody."""

from __future__ import annotations

from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.publish.sums import SIGNATURE
from kepler_train.workspace import FileStore


def missing_files(exported: Path, store: FileStore, place: str) -> list[Path]:
    """Return the exported files that the version at `place` lacks; refuse a version with other files or contents.

    Its name is a digest of all contents, but whoever can write there can change them under that name.
    """
    ours = {f"{place}/{path.relative_to(exported).as_posix()}": path for path in exported.rglob("*") if path.is_file()}
    theirs = store.etags(place)
    for key, etag in sorted(theirs.items()):
        if key == f"{place}/{SIGNATURE}":  # two signatures of the same files differ, and the first stays
            continue
        if key not in ours:
            raise _changed(store, key, "was added to it")
        # Before somebody is accused, the file is read a second time.
        if not any(store.holds(key, ours[key], etag) for _ in range(2)):
            raise _changed(store, key, "was changed")
    return [path for key, path in sorted(ours.items()) if key not in theirs]


def refuse_missing(missing: list[Path], exported: Path, store: FileStore, place: str) -> None:
    """Refuse a version that appears whole and lacks files nevertheless."""
    if missing:
        raise _changed(store, f"{place}/{missing[0].relative_to(exported).as_posix()}", "was removed from it")


def _changed(store: FileStore, key: str, how: str) -> UserError:
    pipeline, version, _ = key.split("/", 2)
    return UserError(
        f"The version {version} of {pipeline} at {store.uri} is not what was published: {key} {how}. It is left as it"
        " is: find out who did that, remove the version and publish again."
    )

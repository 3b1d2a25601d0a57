"""Bring a version to this machine, and trust nothing of it before its check sums, and its signature, are right."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from kepler_train.errors import UserError
from kepler_train.hashing import sha256_of
from kepler_train.publish.signing import check_signature
from kepler_train.publish.sums import BESIDE, SIGNATURE, SUMS, parse_sums
from kepler_train.publish.target import Target
from kepler_train.publish.version import is_named_for, is_named_for_contents
from kepler_train.workspace.folder import FolderStore

_AT_ONCE = 16  # files downloaded


class Verified(NamedTuple):
    """A version on this machine that is what was published: its folder, files and bytes, and if it is signed."""

    folder: Path
    files: int
    size: int
    signed: bool


def fetch_verified(
    target: Target, pipeline: str, version: str, folder: Path, public_key: Path | None = None
) -> Verified:
    """Download a version below `folder` and verify it; with a public key its signature too."""
    home = f"{pipeline}/{version}"
    sizes = {key: size for key, size in target.store.sizes(home).items() if not key.endswith("/")}
    if not sizes:
        raise UserError(f"The version {version} of {pipeline} at {target.uri} has no files: they were removed.")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda key: target.store.download(key, folder), sizes))
    place = folder / home
    _check_files(place, version, f"{version} of {pipeline} at {target.uri}")
    signed = (place / SIGNATURE).is_file()
    if public_key is not None:
        check_signature(place, public_key, f"The version {version} of {pipeline} at {target.uri}")
    return Verified(place, len(sizes), sum(sizes.values()), signed)


def copy_out(target: Target, verified: Verified, place: Path) -> None:
    """Put a verified version into `place`, as files of its own: a folder's are linked, and must not be shared."""
    if isinstance(target.store, FolderStore):
        shutil.copytree(verified.folder, place)
    else:
        shutil.move(verified.folder, place)


def _check_files(place: Path, version: str, what: str) -> None:
    """Refuse files that are not those that the version is named for, and name the first of them."""
    list_of_sums = place / SUMS
    if not list_of_sums.is_file():
        if not is_named_for_contents(version, place):
            raise _refused(what, "its files are not those that it is named for")
        return
    sums = parse_sums(list_of_sums.read_bytes(), f"{SUMS} of the version {what}")
    if not is_named_for(version, sums):
        raise _refused(what, f"{SUMS} was changed")
    files = {path.relative_to(place).as_posix(): path for path in place.rglob("*") if path.is_file()}
    for name in sorted(files.keys() | sums.keys() - set(BESIDE)):
        if name in BESIDE:
            continue
        if name not in files:
            raise _refused(what, f"{name} is missing")
        if name not in sums:
            raise _refused(what, f"{name} was added to it")
        if sha256_of(files[name]) != sums[name]:
            raise _refused(what, f"{name} was changed")


def _refused(what: str, why: str) -> UserError:
    return UserError(f"The version {what} is not what was published: {why}. Do not use it.")

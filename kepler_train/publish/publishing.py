"""Publish one version: its files, its record, and `latest` last.

Whoever is killed in between leaves `latest` at a whole version, and publishing again goes on from there.
"""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from kepler_train.publish.ledger import change_versions, now, read_versions
from kepler_train.publish.promotion import Judge, Promotion
from kepler_train.publish.retention import wait_for_removal
from kepler_train.publish.signing import sign_version
from kepler_train.publish.sums import SIGNATURE, SUMS, format_sums, sums_of
from kepler_train.publish.target import Target
from kepler_train.publish.version import version_name, window_end_of
from kepler_train.publish.version_record import VersionRecord, Versions, describe_version


class Published(NamedTuple):
    """The version that is `latest` now, and the record of the one that was published."""

    latest: str
    record: VersionRecord


class LatestMoved(Exception):
    """Somebody has published since the version was put together."""


def pack(exported: Path, end: datetime, folder: Path) -> tuple[str, Path]:
    """Copy what was exported below `folder`, add check sums and sign them; return the version and its folder."""
    package = folder / "version"
    shutil.copytree(exported, package)
    sums = sums_of(package)
    (package / SUMS).write_bytes(format_sums(sums))
    sign_version(package)
    return version_name(sums, end), package


def publish_version(
    target: Target,
    package: Path,
    pipeline: str,
    version: str,
    window: tuple[datetime, datetime],
    grown_from: str | None = None,
    judge: Judge = lambda _: Promotion(True, ""),
) -> Published:
    """Put a version at a target, record it, and let `latest` be it unless something holds that where it is.

    One that was `grown_from` another version does not replace any other: what that has of other node types would be
    lost. `judge` is asked whether it may take the place of the version that is `latest`.
    """
    wait_for_removal(target, pipeline, version)
    target.add(package, pipeline, version)
    record = _describe(package, pipeline, version, window)
    current = target.latest(pipeline)
    expected = _record(target, pipeline, record, current, judge)
    before = current

    def choose(latest: str) -> str | None:
        nonlocal before
        before = latest
        if grown_from is not None and latest not in (grown_from, version):
            raise LatestMoved
        return version if _decide(read_versions(target, pipeline), version, latest, judge).promoted else None

    latest = target.move_latest(pipeline, choose)
    if expected.promoted != (latest == version):  # somebody moved or pinned it meanwhile
        expected = _record(target, pipeline, record, before, judge)
    return Published(latest, expected)


def hold(versions: Versions, version: str, latest: str) -> str:
    """Return why a version may not become the latest, as a sentence; empty when it may."""
    if versions.pinned and versions.pinned != version:
        return f"A pin holds latest at {versions.pinned}: `kepler-train models unpin` ends that."
    record = versions.of(version)
    if latest != version and record and record.rolled_back:
        return "It was rolled back: `kepler-train models rollback --to` can choose it again."
    if window_end_of(latest) > window_end_of(version):
        return "The latest version is of a newer window."
    return ""


def _decide(versions: Versions, version: str, latest: str, judge: Judge) -> Promotion:
    held = hold(versions, version, latest)
    return Promotion(False, held) if held else judge(latest)


def _record(target: Target, pipeline: str, fresh: VersionRecord, latest: str, judge: Judge) -> VersionRecord:
    """Write the record of a version; what is known of an earlier publication of the same files stays."""
    record = fresh

    def enter(versions: Versions) -> Versions:
        nonlocal record
        promoted, reason = _decide(versions, fresh.version, latest, judge)
        earlier = versions.of(fresh.version)
        known: dict[str, Any] = {}
        if earlier:
            known = {"pinned": earlier.pinned, "rolled_back": earlier.rolled_back}
            known["published"] = earlier.published or fresh.published  # the first time
            known["signed"] = earlier.signed or fresh.signed
        record = fresh.model_copy(update=known | {"promoted": promoted, "reason": reason})
        return versions.with_record(record)

    change_versions(target, pipeline, enter)
    return record


def _describe(package: Path, pipeline: str, version: str, window: tuple[datetime, datetime]) -> VersionRecord:
    """Return the record of a version from its files on this machine."""
    home = f"{pipeline}/{version}"
    sizes = {
        f"{home}/{path.relative_to(package).as_posix()}": path.stat().st_size
        for path in package.rglob("*")
        if path.is_file()
    }

    def read(key: str) -> bytes | None:
        path = package / key.removeprefix(f"{home}/")
        return path.read_bytes() if path.is_file() else None

    record = describe_version(read, pipeline, version, sizes)
    signed = f"{home}/{SIGNATURE}" in sizes
    return record.model_copy(update={"published": now(), "window": window, "signed": signed})

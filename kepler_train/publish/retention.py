"""Retention: which versions are kept, and how the others are removed so that nobody is led to a half of one."""

from __future__ import annotations

from datetime import datetime, timedelta

from kepler_train.errors import TryAgain
from kepler_train.publish.ledger import change_versions, now, read_versions
from kepler_train.publish.target import Target
from kepler_train.publish.version_record import VERSIONS, VersionRecord, Versions

# Deleting a version takes seconds; what has taken longer was killed, and is finished by the next.
_ABANDONED = timedelta(minutes=10)


def surplus(versions: Versions, latest: str, keep: int) -> list[VersionRecord]:
    """Return the versions beyond the `keep` newest, but for that which `latest` or a pin names; 0 keeps all."""
    older = versions.versions[:-keep] if keep else []
    return [record for record in older if record.version != latest and not record.pinned]


def prune(target: Target, pipeline: str, keep: int) -> list[str]:
    """Remove the versions beyond the `keep` newest, and what a killed removal has left; return their names.

    They are taken from the records first. Whoever moves `latest` looks at the records afterwards, and here it is the
    other way round: one of the two notices when a version is chosen and removed at once.
    """
    dropped: list[VersionRecord] = []
    began = now()

    def drop(versions: Versions) -> Versions | None:
        nonlocal dropped
        dropped = surplus(versions, target.latest(pipeline), keep)
        if not dropped:
            return None
        removing = versions.removing | {record.version: began for record in dropped}
        return versions.without(removing).model_copy(update={"removing": removing})

    left = change_versions(target, pipeline, drop).removing
    latest = target.latest(pipeline)
    saved = [record for record in dropped if record.version == latest]
    gone = sorted(name for name in left if name != latest and (left[name] == began or _is_abandoned(left, name)))
    for name in gone:
        target.remove(pipeline, name)
    if gone or saved:

        def finish(versions: Versions) -> Versions:
            for record in saved:
                versions = versions.with_record(record)
            done = {*gone, *(record.version for record in saved)}
            removing = {name: time for name, time in versions.removing.items() if name not in done}
            return versions.model_copy(update={"removing": removing})

        change_versions(target, pipeline, finish)
    return gone


def wait_for_removal(target: Target, pipeline: str, version: str) -> None:
    """Refuse to write a version that somebody is removing; finish a removal that was killed."""
    if target.store.read(f"{pipeline}/{VERSIONS}", recheck=False) is None:
        return
    removing = read_versions(target, pipeline).removing
    if version not in removing:
        return
    if not _is_abandoned(removing, version):
        raise TryAgain(f"The version {version} of {pipeline} at {target.uri} is being removed: try again in a minute.")
    target.remove(pipeline, version)
    change_versions(
        target,
        pipeline,
        lambda versions: versions.model_copy(
            update={"removing": {name: time for name, time in versions.removing.items() if name != version}}
        ),
    )


def _is_abandoned(removing: dict[str, datetime], version: str) -> bool:
    return now() - removing[version] > _ABANDONED

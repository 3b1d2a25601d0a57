"""What people do with published versions: choose one, pin it, go back to one before."""

from __future__ import annotations

from kepler_train.errors import UserError, unknown_name
from kepler_train.publish.ledger import change_versions, now, read_versions
from kepler_train.publish.store_index import index_pipeline, read_index
from kepler_train.publish.target import Target
from kepler_train.publish.version import check_pipeline, is_version
from kepler_train.publish.version_record import Move, VersionRecord, Versions

LATEST = "latest"


def versions_at(target: Target, pipeline: str) -> Versions:
    """Return the versions of a pipeline; refuse one that has none in one sentence."""
    versions = read_versions(target, check_pipeline(pipeline))
    if not versions.versions:
        raise _no_pipeline(target, pipeline)
    return versions


def find_version(target: Target, pipeline: str, name: str = LATEST) -> VersionRecord:
    """Return the record of a version by its name, by the beginning of it that no other has, or by `latest`."""
    if name != LATEST and not is_version(name):
        raise UserError(f"{name!r} is not the name of a version: it has letters, digits and ._- only.")
    versions = versions_at(target, pipeline)
    if name == LATEST:
        name = target.latest(pipeline)
        if not name:
            raise UserError(f"No version of {pipeline} at {target.uri} is the latest: name one.")
    found = [record for record in versions.versions if record.version.startswith(name)]
    exact = versions.of(name)
    if exact or len(found) == 1:
        return exact or found[0]
    names = [record.version for record in found or versions.versions]
    if found:
        raise UserError(f"{name!r} is the beginning of {len(found)} versions of {pipeline}: {', '.join(names[-5:])}.")
    raise UserError(unknown_name(f"version of {pipeline} at {target.uri}", name, names))


def pin(target: Target, pipeline: str, name: str = LATEST) -> VersionRecord:
    """Let `latest` be a version and stay there, whatever is published; return its record."""
    chosen = find_version(target, pipeline, name)

    def mark(versions: Versions) -> Versions:
        _still_there(versions, chosen, pipeline)
        return _pinned(versions, chosen.version, f"pinned at {chosen.version}")

    # The record first: a publisher that has read it before loses the race for the pointer, which is written anew.
    change_versions(target, pipeline, mark)
    target.move_latest(pipeline, lambda _: chosen.version, pinned=True)
    index_pipeline(target, pipeline)
    return find_version(target, pipeline, chosen.version)


def unpin(target: Target, pipeline: str) -> str:
    """End the pin of a pipeline, and return the version that was pinned; `latest` moves with the next publication."""
    before = versions_at(target, pipeline).pinned
    if not before:
        raise UserError(f"No version of {pipeline} at {target.uri} is pinned.")
    change_versions(target, pipeline, lambda versions: _pinned(versions, "", f"unpinned, was {before}"))
    target.move_latest(pipeline, lambda current: current or None)
    index_pipeline(target, pipeline)
    return before


def rollback(target: Target, pipeline: str, to: str = "") -> Move:
    """Move `latest` to the version before, or to a named one, and record it."""
    versions = versions_at(target, pipeline)
    if versions.pinned:
        raise UserError(f"{pipeline} is pinned at {versions.pinned}: `kepler-train models unpin {pipeline}` first.")
    chosen = find_version(target, pipeline, to).version if to else ""
    left = ""

    def choose(current: str) -> str | None:
        nonlocal left
        left = current
        return chosen or version_before(versions, current, pipeline, target.uri)

    there = target.move_latest(pipeline, choose)
    move = Move(time=now(), version=there, reason=f"rolled back from {left}")

    def enter(after: Versions) -> Versions:
        for name, rolled_back in ((left, left != there), (there, False)):
            if record := after.of(name):
                after = after.with_record(record.model_copy(update={"rolled_back": rolled_back}))
        return after.model_copy(update={"moves": [*after.moves, move]})

    if change_versions(target, pipeline, enter).of(there) is None:  # removed at the same moment
        target.move_latest(pipeline, lambda current: left if current == there else None)
        raise UserError(f"The version {there} of {pipeline} was removed meanwhile: latest stays at {left}.")
    index_pipeline(target, pipeline)
    return move


def version_before(versions: Versions, current: str, pipeline: str, where: str) -> str:
    """Return the version of the next older window that was once the latest, else any that is older."""
    older = [record for record in versions.versions if record.version < current]
    once_latest = [record for record in older if record.promoted and not record.rolled_back]
    if not older:
        raise UserError(
            f"{pipeline} at {where} has no version before {current or 'the first'}: there is none to go to."
        )
    return (once_latest or older)[-1].version


def _pinned(versions: Versions, version: str, reason: str) -> Versions:
    records = []
    for record in versions.versions:
        chosen = record.version == version
        free = {} if not chosen else {"rolled_back": False}
        records.append(record.model_copy(update={"pinned": chosen} | free))
    moves = [*versions.moves, Move(time=now(), version=version, reason=reason)]
    return versions.model_copy(update={"versions": records, "moves": moves})


def _still_there(versions: Versions, chosen: VersionRecord, pipeline: str) -> None:
    if versions.of(chosen.version) is None:
        raise UserError(f"The version {chosen.version} of {pipeline} was removed meanwhile.")


def _no_pipeline(target: Target, pipeline: str) -> UserError:
    entries = read_index(target)
    if pipeline in entries:
        return UserError(f"{pipeline} at {target.uri} was trained there and never published: it has no versions.")
    if not entries:
        return UserError(f"There is no pipeline {pipeline!r} at {target.uri}, nor any other: name the target with -t.")
    return UserError(unknown_name(f"pipeline at {target.uri}", pipeline, list(entries)))

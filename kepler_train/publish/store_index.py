"""`index.json` above the pipelines of a target: each with its latest version in short, so that a list is one read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Literal

from kepler_train.errors import UserError
from kepler_train.events import warn
from kepler_train.publish.ledger import let_all_read, read_versions, version_folders
from kepler_train.publish.target import Target
from kepler_train.publish.version_record import (
    VERSIONS,
    ErrorFigure,
    KeptRecord,
    VersionRecord,
    Versions,
    describe_version,
)
from kepler_train.records import read_record
from kepler_train.spec import NAME_PATTERN
from kepler_train.workspace.folder import FolderStore

INDEX = "index.json"
_AT_ONCE = 16  # pipelines looked at


class PipelineEntry(KeptRecord):
    """A pipeline in short: `latest` is empty for one that was trained there and never published.

    `held` tells why the newest version is not the latest; empty where it is.
    """

    latest: str = ""
    versions: int = 0
    published: datetime | None = None
    pinned: str = ""
    window: tuple[datetime, datetime] | None = None
    models: int = 0
    size: int = 0
    errors: dict[str, ErrorFigure] = {}
    node_types: list[int] = []
    signed: bool = False
    held: str = ""


class StoreIndex(KeptRecord):
    """All pipelines of a target, by name.

    `changing` are those that somebody is publishing: their entries may be out of date, for good if he was killed.
    """

    schema_version: Literal[1] = 1
    pipelines: dict[str, PipelineEntry] = {}
    changing: list[str] = []


def read_index(target: Target) -> Mapping[str, PipelineEntry]:
    """Return the pipelines of a target: of a bucket as its index has them, of a folder as they are."""
    content = None if isinstance(target.store, FolderStore) else target.store.read(INDEX)
    if content is None:
        return dict(sorted(_walk(target).items()))
    index = read_record(StoreIndex, content, f"{target.uri}/{INDEX}")
    found = dict(index.pipelines)
    for name in index.changing:
        if entry := _entry_or_warning(target, name):
            found[name] = entry
    return dict(sorted(found.items()))


def expect_change(target: Target, pipeline: str) -> None:
    """Mark a pipeline in the index as one that is being published, until `index_pipeline` has entered the outcome.

    Whoever reads the index meanwhile, or after the publisher was killed, looks at the pipeline itself.
    """

    def marked(before: bytes | None) -> bytes | None:
        if before is None:  # readers look at the pipelines themselves
            return None
        index = read_record(StoreIndex, before, f"{target.uri}/{INDEX}")
        if pipeline in index.changing:
            return None
        return index.model_copy(update={"changing": sorted([*index.changing, pipeline])}).model_dump_json().encode()

    target.store.update(INDEX, marked)
    let_all_read(target, INDEX)


def index_pipeline(target: Target, pipeline: str) -> None:
    """Bring the entry of a pipeline up to date; the first to do so enters all others too."""

    def changed(before: bytes | None) -> bytes | None:
        if before is None:
            entries, changing = _walk(target), []
        else:
            index = read_record(StoreIndex, before, f"{target.uri}/{INDEX}")
            entries, changing = dict(index.pipelines), [name for name in index.changing if name != pipeline]
            entry = _entry(target, pipeline)  # read after the index, so that whoever writes it last has seen all
            if entries.get(pipeline) == entry and changing == index.changing:
                return None
            if entry:
                entries[pipeline] = entry
            else:
                entries.pop(pipeline, None)
        return StoreIndex(pipelines=dict(sorted(entries.items())), changing=changing).model_dump_json().encode()

    target.store.update(INDEX, changed)
    let_all_read(target, INDEX)


def _walk(target: Target) -> dict[str, PipelineEntry]:
    """Return an entry of every pipeline, from what is there."""
    names = [name for name in target.store.folders() if re.fullmatch(NAME_PATTERN, name)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        entries = pool.map(lambda name: _entry_or_warning(target, name), names)
        return {name: entry for name, entry in zip(names, entries, strict=True) if entry}


def _entry_or_warning(target: Target, pipeline: str) -> PipelineEntry | None:
    try:
        return _entry(target, pipeline)
    except UserError as error:  # of one pipeline, which must not hide the others
        warn(f"The pipeline {pipeline} is not listed: {error}")
        return None


def _entry(target: Target, pipeline: str) -> PipelineEntry | None:
    latest, read = target.latest(pipeline), target.store.read
    if read(f"{pipeline}/{VERSIONS}") is not None:
        versions = read_versions(target, pipeline)
        about = versions.of(latest)
        count = len(versions.versions)
    else:  # before versions were recorded: only the latest is looked at
        versions, about = Versions(), None
        count = len(version_folders(target, pipeline))
    if about is None:
        home = f"{pipeline}/{latest}" if latest else pipeline
        about = describe_version(read, pipeline, latest, target.store.sizes(home) if latest or not count else {})
        if not latest and not about.errors and not count:
            return None
    return _in_short(versions, about, latest, count)


def _in_short(versions: Versions, about: VersionRecord, latest: str, count: int) -> PipelineEntry:
    newest = versions.versions[-1] if versions.versions else None
    times = [record.published for record in versions.versions if record.published]
    return PipelineEntry(
        latest=latest,
        versions=count,
        published=max(times) if times else None,
        pinned=versions.pinned,
        window=about.window,
        models=about.models,
        size=about.size,
        errors=about.errors,
        node_types=about.node_types,
        signed=about.signed,
        held=newest.reason if newest and newest.version != latest else "",
    )

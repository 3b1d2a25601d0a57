"""What a run publishes into a pipeline that has other node types: its own models, and those of the other types."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kepler_train.errors import TryAgain
from kepler_train.evaluate.comparison import Comparison
from kepler_train.export.arguments import TrainArguments
from kepler_train.export.carry import carry_node_types, window_end
from kepler_train.publish.champion import judge_of
from kepler_train.publish.ledger import change_versions
from kepler_train.publish.publishing import LatestMoved, Published, pack, publish_version
from kepler_train.publish.target import Target
from kepler_train.publish.version_record import Versions
from kepler_train.scratch import ScratchFolder
from kepler_train.spec import RunSpec

# Others may publish in between; so many at once there are not.
_TRIES = 20


@dataclass(frozen=True)
class Grown:
    """A folder to publish, the end of the latest window in it, and the version that it was grown from."""

    folder: Path
    end: datetime
    before: str


def publish_grown(
    target: Target, exported: Path, spec: RunSpec, scratch: Path, compared: Comparison | None = None
) -> tuple[str, Published]:
    """Publish what was exported with the other node types of the pipeline; return the version and what became of it.

    `compared` is its comparison with the version that was there when the run was planned.

    Whoever publishes another node type meanwhile moves `latest`: what is there then is carried over too.
    """
    for number in range(_TRIES):
        with grown(exported, spec.pipeline, spec.window[1], target) as whole:
            work = scratch / f"try_{number}"
            work.mkdir()
            version, package = pack(whole.folder, whole.end, work)
            window = spec.window[0], whole.end
            judge = judge_of(target, spec.pipeline, package, version, compared, spec.promote)
            try:
                return version, publish_version(target, package, spec.pipeline, version, window, whole.before, judge)
            except LatestMoved:
                _note_overtaken(target, spec.pipeline, version)
    raise TryAgain(f"{target.uri}/{spec.pipeline} was published to by others {_TRIES} times meanwhile: try again.")


def _note_overtaken(target: Target, pipeline: str, version: str) -> None:
    """Record that a version lacks what somebody published meanwhile; it stays, as others may have published it too."""

    def note(versions: Versions) -> Versions | None:
        record = versions.of(version)
        overtaken = {"promoted": False, "reason": "Another version became the latest while it was published."}
        return versions.with_record(record.model_copy(update=overtaken)) if record else None

    change_versions(target, pipeline, note)


@contextmanager
def grown(exported: Path, pipeline: str, end: datetime, target: Target) -> Iterator[Grown]:
    """Yield what was exported with the other node types of the pipeline's latest version.

    `end` is that of the run's window. A version ends with the latest window of all its node types, unless the run is
    of an older window than the models of its own type that are there: those stay the latest.
    """
    before = target.latest(pipeline)
    if not before:
        yield Grown(exported, end, before)
        return
    with ScratchFolder() as scratch:
        for key in target.store.sizes(f"{pipeline}/{before}"):
            target.store.download(key, scratch / "before")
        there, folder = scratch / "before" / pipeline / before, scratch / "fresh" / pipeline
        shutil.copytree(exported, folder)
        carry_node_types(there, folder)
        own = window_end(there, TrainArguments.read(folder).node_type)
        newest = window_end(folder)
        overtaken = own is not None and own > end
        yield Grown(folder, end if overtaken or newest is None else max(end, newest), before)

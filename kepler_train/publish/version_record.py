"""What is known of the versions of a pipeline at a target: `<pipeline>/versions.json`, a record for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from kepler_train.export.arguments import ARGUMENTS, TrainArguments
from kepler_train.export.published_table import folder_name, read_table
from kepler_train.model_key import error_table
from kepler_train.records import Record, read_record

VERSIONS = "versions.json"
_OF_BLOCKS = "blocked"
_NODE_TYPE = re.compile(r"_(\d+)$")  # of a model's name


class KeptRecord(Record):
    """A record that is written again by whoever publishes next: entries of later versions are kept."""

    model_config = ConfigDict(extra="allow")


class ErrorFigure(KeptRecord):
    """The held-out error (W, %) of the best model of a source and an output type, worst component."""

    mae: float
    mape: float | None = None
    protocol: str = _OF_BLOCKS
    model: str = ""


class VersionRecord(KeptRecord):
    """A version that was published: when, from which window, how large (bytes) and how good it is.

    `promoted` tells whether it was made `latest` when it was published, `reason` why or why not. One that was rolled
    back does not become `latest` by being published again.
    """

    version: str
    published: datetime | None = None
    window: tuple[datetime, datetime] | None = None
    models: int = 0
    size: int = 0
    errors: dict[str, ErrorFigure] = {}
    node_types: list[int] = []
    signed: bool = False
    promoted: bool = False
    reason: str = ""
    pinned: bool = False
    rolled_back: bool = False


class Move(KeptRecord):
    """A move of `latest` that a person asked for: by a rollback or a pin."""

    time: datetime
    version: str
    reason: str


class Versions(KeptRecord):
    """The versions of a pipeline, the newest window last; `removing` has when the deletion of others began."""

    schema_version: Literal[1] = 1
    versions: list[VersionRecord] = []
    removing: dict[str, datetime] = {}
    moves: list[Move] = []

    @classmethod
    def read(cls, content: bytes, where: str) -> Versions:
        """Return what a file holds, or refuse it in one sentence."""
        return read_record(cls, content, where)

    def of(self, version: str) -> VersionRecord | None:
        """Return the record of a version."""
        return next((record for record in self.versions if record.version == version), None)

    @property
    def pinned(self) -> str:
        """Return the version that a pin holds `latest` at; empty without a pin."""
        return next((record.version for record in self.versions if record.pinned), "")

    def with_record(self, record: VersionRecord) -> Versions:
        """Return these versions with a record in the place of an earlier one of the same version."""
        others = [other for other in self.versions if other.version != record.version]
        return self.model_copy(update={"versions": sorted([*others, record], key=lambda one: one.version)})

    def without(self, names: Iterable[str]) -> Versions:
        """Return these versions without some."""
        gone = set(names)
        return self.model_copy(update={"versions": [one for one in self.versions if one.version not in gone]})

    def as_bytes(self) -> bytes:
        """Return the content of the file."""
        return self.model_dump_json(indent=1).encode()


def describe_version(
    read: Callable[[str], bytes | None], pipeline: str, version: str, sizes: dict[str, int]
) -> VersionRecord:
    """Return the record of the version below `<pipeline>/<version>`, from its files; what is not ours has less to say.

    `sizes` are those of its files (bytes), by key.
    """
    from kepler_train.export.overview import read_overview  # and pandas with it, which a list does without

    home = f"{pipeline}/{version}" if version else pipeline
    facts = {
        "version": version,
        "models": sum(key.endswith(".zip") and key.count("/") - home.count("/") == 4 for key in sizes),
        "size": sum(sizes.values()),
    }
    overview = read_overview(read, pipeline, home)
    if overview is None:
        return VersionRecord.model_validate(facts)
    arguments = TrainArguments.model_validate_json(read(f"{home}/{ARGUMENTS}") or b"{}")
    start = (arguments.model_extra or {}).get("start")
    tables = [
        f"{home}/{error_table(source, output_type)}"
        for source in map(folder_name, arguments.energy_sources)
        for output_type in map(folder_name, arguments.output_types)
    ]
    names = [model.name for table in tables for model in read_table(read(table), table)]
    node_types = {int(found[1]) for name in names if (found := _NODE_TYPE.search(name))}
    return VersionRecord.model_validate(
        facts
        | {
            "window": (start, arguments.end) if start and arguments.end else None,
            "errors": {
                f"{best.source}/{best.output_type}": ErrorFigure(mae=best.mae, mape=best.mape, model=best.folder)
                for best in overview.best
            },
            "node_types": sorted(node_types or {arguments.node_type}),
        }
    )

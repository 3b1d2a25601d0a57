"""The metadata of a pipeline: `metadata.json` in its folder, beside which the folders of its models are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ConfigDict

from kepler_train import __version__
from kepler_train.errors import UserError
from kepler_train.models.files import METADATA
from kepler_train.records import Record, read_record
from kepler_train.spec import RunSpec


def utc(moment: datetime) -> str:
    """Return a time as the metadata have it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


class PipelineMetadata(Record):
    """How a pipeline was trained, when, and by whom it is published; what is unknown to this version is kept.

    `init_time` is the beginning of its first training, `last_update_time` the end of its last one; its data end at
    `collect_time`, and `export_time` is when it was last copied into a model database.
    """

    model_config = ConfigDict(extra="allow")

    name: str
    isolator: str = ""
    extractor: str = ""
    abs_trainers: list[str] = []
    dyn_trainers: list[str] = []
    metric_type: str = ""
    init_time: str | None = None
    last_update_time: str | None = None
    collect_time: str | None = None
    export_time: str | None = None
    publisher: str = ""
    kepler_train_version: str = ""

    @classmethod
    def of(cls, spec: RunSpec, isolator: str, trained: tuple[datetime, datetime] | None = None) -> PipelineMetadata:
        """Return the metadata of a run whose models were trained between two times.

        `isolator` is the one that was used, which `auto` does not say.
        """
        times = {"init_time": utc(trained[0]), "last_update_time": utc(trained[1])} if trained else {}
        return cls(
            name=spec.pipeline,
            isolator=isolator,
            extractor=spec.extractor,
            abs_trainers=spec.abs_trainers if "AbsPower" in spec.output_types else [],
            dyn_trainers=spec.dyn_trainers if "DynPower" in spec.output_types else [],
            metric_type="vm_metrics" if spec.vm_train else "counter",
            collect_time=utc(spec.window[1]),
            publisher=spec.publisher,
            kepler_train_version=__version__,
            **times,
        )

    def after(self, earlier: PipelineMetadata) -> PipelineMetadata:
        """Return the metadata of a pipeline that was trained before: its first training stays the first."""
        times = {
            "init_time": min(_times(earlier.init_time, self.init_time), default=None),
            "last_update_time": max(_times(earlier.last_update_time, self.last_update_time), default=None),
        }
        return self.model_copy(update={name: utc(moment) for name, moment in times.items() if moment})

    def beside(self, earlier: PipelineMetadata) -> PipelineMetadata:
        """Return the metadata of a pipeline in which models of earlier trainings stay beside new ones."""
        trainers = {
            name: list(dict.fromkeys([*getattr(earlier, name), *getattr(self, name)]))
            for name in ("abs_trainers", "dyn_trainers")
        }
        return self.after(earlier).model_copy(update=trainers)

    @classmethod
    def of_folder(cls, folder: Path) -> PipelineMetadata:
        """Read the metadata in a folder of whichever name, as that of a version."""
        return read_record(cls, (folder / METADATA).read_bytes(), str(folder / METADATA))

    @classmethod
    def read(cls, pipeline: Path) -> PipelineMetadata:
        """Read the metadata in the folder of a pipeline; refuse a folder of anything else in one sentence."""
        file = pipeline / METADATA
        refused = f"{pipeline} is not a trained pipeline: train it first, or check MODEL_PATH and the name."
        try:
            metadata = read_record(cls, file.read_bytes(), str(file))
        except (OSError, UserError):
            raise UserError(refused) from None
        if metadata.name != pipeline.name:
            raise UserError(refused)
        return metadata

    def with_provenance(self, known: Mapping[str, str]) -> PipelineMetadata:
        """Return the metadata with what is known of publisher and times; what is empty stays as it was."""
        return self.model_copy(update={name: text for name, text in known.items() if text})

    def write(self, pipeline: Path) -> None:
        """Write the metadata to the folder of a pipeline."""
        (pipeline / METADATA).write_text(json.dumps(self.content(), indent=1), encoding="utf-8")


def _times(*moments: str | None) -> list[datetime]:
    """Return those of texts that are times; earlier tools write UTC without saying so."""
    times = []
    for moment in filter(None, moments):
        with suppress(ValueError):
            time = datetime.fromisoformat(moment)
            times.append(time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC))
    return times

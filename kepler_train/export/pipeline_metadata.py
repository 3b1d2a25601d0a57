"""The metadata of a pipeline: `metadata.json` in its folder, beside which the folders of its models are."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ConfigDict

from kepler_train import __version__
from kepler_train.errors import UserError
from kepler_train.models.files import METADATA
from kepler_train.records import Record, read_record
from kepler_train.spec import RunSpec


class PipelineMetadata(Record):
    """How a pipeline was trained, when, and by whom it is published; what is unknown to this version is kept."""

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
    publisher: str = ""
    kepler_train_version: str = ""

    @classmethod
    def of(cls, spec: RunSpec, isolator: str) -> PipelineMetadata:
        """Return the metadata of a run; `isolator` is the one that was used, which `auto` does not say."""
        start, end = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in spec.window)
        return cls(
            name=spec.pipeline,
            isolator=isolator,
            extractor=spec.extractor,
            abs_trainers=spec.abs_trainers if "AbsPower" in spec.output_types else [],
            dyn_trainers=spec.dyn_trainers if "DynPower" in spec.output_types else [],
            metric_type="vm_metrics" if spec.vm_train else "counter",
            init_time=start,
            last_update_time=end,
            collect_time=end,
            publisher=spec.publisher,
            kepler_train_version=__version__,
        )

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

    def write(self, pipeline: Path) -> None:
        """Write the metadata to the folder of a pipeline."""
        (pipeline / METADATA).write_text(json.dumps(self.content(), indent=1), encoding="utf-8")

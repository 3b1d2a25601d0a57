"""All models of a pipeline in one small file, `leaderboard.json`: what a list of models shows without reading each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.export.published_table import folder_name
from kepler_train.models.files import json_bytes
from kepler_train.models.metadata import ModelMetadata
from kepler_train.records import Record, read_record

LEADERBOARD = "leaderboard.json"


class ModelError(Record):
    """The mean absolute error (W) of a component under one protocol, and its share of measured power (%)."""

    mae: float
    mape: float | None = None


class ListedModel(Record):
    """One model: what it is, its errors by protocol and component, and what else people choose by.

    `coverage` is the share of held-out power inside the prediction interval, and `additivity_error` how far (W)
    predictions of containers are from that of their node; both are of the worst component. `size` is that of the zip
    (bytes).
    """

    source: str
    output_type: str
    group: str
    trainer: str
    node_type: int
    model_name: str
    errors: dict[str, dict[str, ModelError]]
    coverage: float | None = None
    level: float | None = None
    additivity_error: float | None = None
    rows: int = 0
    workloads: int = 0
    features: list[str] = []
    size: int = 0

    @property
    def folder(self) -> str:
        """Return the folder of the model below that of its pipeline."""
        return f"{self.source}/{self.output_type}/{self.group}/{self.model_name}"

    def worst(self, protocol: str) -> ModelError | None:
        """Return the error of the worst component under a protocol; None where the model was not judged by it."""
        errors = self.errors.get(protocol)
        return max(errors.values(), key=lambda error: error.mae) if errors else None


class Leaderboard(Record):
    """The models of a pipeline, in the order of their folders."""

    schema_version: int = 1
    models: list[ListedModel] = []


def write_leaderboard(pipeline: Path, models: Mapping[Path, ModelMetadata]) -> None:
    """Write the leaderboard of models, by their folders, into the folder of their pipeline."""
    listed = [_listed(metadata, folder) for folder, metadata in models.items()]
    content = Leaderboard(models=listed).model_dump(mode="json", exclude_none=True)
    (pipeline / LEADERBOARD).write_bytes(json_bytes(content))


def read_leaderboard(content: bytes, where: str) -> list[ListedModel]:
    """Return the models of a leaderboard; refuse anything else in one sentence, as its names become paths."""
    models = read_record(Leaderboard, content, where).models
    try:
        for model in models:
            for name in (model.source, model.output_type, model.group, model.model_name):
                folder_name(name)
    except ValueError as error:
        raise UserError(f"{where} is not a leaderboard: {error}.") from None
    return models


def _listed(metadata: ModelMetadata, folder: Path) -> ListedModel:
    coverages = [interval.coverage for interval in metadata.interval.values() if interval.coverage is not None]
    archive = folder.with_name(f"{folder.name}.zip")
    return ListedModel(
        source=metadata.energy_source,
        output_type=metadata.output_type,
        group=metadata.feature_group,
        trainer=metadata.trainer,
        node_type=metadata.node_type,
        model_name=metadata.model_name,
        errors={
            protocol: {name: ModelError(mae=errors.mae, mape=errors.mape) for name, errors in components.items()}
            for protocol, components in metadata.figures.items()
        },
        coverage=min(coverages, default=None),
        level=next((interval.level for interval in metadata.interval.values()), None),
        additivity_error=max((metadata.additivity_error or {}).values(), default=None),
        rows=metadata.rows,
        workloads=len(metadata.workloads),
        features=metadata.features,
        size=archive.stat().st_size if archive.is_file() else 0,
    )

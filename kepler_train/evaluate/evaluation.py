"""The evaluation of a run: the errors of every model, beside those of trivial models on the same rows.

The order of entries is that of `evaluation.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

from kepler_train.model_key import Family, ModelKey
from kepler_train.models.metadata import (
    ADDITIVE,
    ByProtocol,
    HoldingOut,
    Interval,
    ModelMetadata,
    PreviousModel,
    TrivialFigures,
)
from kepler_train.records import Record, read_record

EVALUATION = "evaluation.json"


class TrainingSummary(Record):
    """What a model's metadata say of its training that the report shows beside the errors."""

    output_type: str = ""
    rows: int = 0
    workloads: dict[str, int] = {}
    evaluation: HoldingOut | None = None
    main_features: dict[str, str] = {}
    trivial_features: dict[str, str] = {}
    notes: list[str] = []
    interval: dict[str, Interval] = {}
    chosen: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    continued: bool = False
    additivity_error: dict[str, float] | None = None
    attribution: str = ADDITIVE
    previous: PreviousModel | None = None
    refused_formats: dict[str, str] = {}

    @classmethod
    def of(cls, metadata: ModelMetadata) -> TrainingSummary:
        """Return the summary of what is in the metadata."""
        known = metadata.model_fields_set & cls.model_fields.keys()
        return cls(**{name: getattr(metadata, name) for name in known})


class ModelVerdict(Record):
    """The errors of a model; `mae` (W) and `mape` (%) are those of its worst component in blocks of time."""

    mae: float
    mape: float | None
    passes: bool
    refused: str  # why it does not pass the gate
    figures: ByProtocol
    training: TrainingSummary = TrainingSummary()


class Evaluation(Record):
    """All models of a run: those that were trained, trivial ones by family and name, and why others are missing."""

    models: dict[ModelKey, ModelVerdict]
    baselines: dict[Family, dict[str, ByProtocol]]
    missing: dict[ModelKey, str]

    @classmethod
    def read(cls, folder: Path) -> Evaluation:
        """Read the file that the evaluate step wrote to a folder."""
        file = folder / EVALUATION
        return read_record(cls, file.read_bytes(), str(file))

    def write(self, folder: Path) -> None:
        """Write the file to a folder."""
        (folder / EVALUATION).write_text(json.dumps(self.content(), allow_nan=False), encoding="utf-8")

    @property
    def passing(self) -> dict[ModelKey, ModelVerdict]:
        """Return the models that may be published."""
        return {key: verdict for key, verdict in self.models.items() if verdict.passes}

    def training_of(self, family: Family) -> TrainingSummary:
        """Return the training of a family, by the first of its models."""
        return next(verdict.training for key, verdict in self.models.items() if key.family == family)

    def trivial(self, family: Family) -> dict[str, dict[str, dict[str, TrivialFigures]]]:
        """Return what a card shows of the trivial models of a family, by name, protocol and component."""
        return {
            name: {
                protocol: {
                    component: TrivialFigures.model_validate(errors, from_attributes=True)
                    for component, errors in by_component.items()
                }
                for protocol, by_component in figures.items()
            }
            for name, figures in self.baselines.get(family, {}).items()
        }

"""The metadata of a model: what it is, how it was trained and how good it is.

The order of entries is that of `metadata.json`. Powers and errors are in W.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Strict

from kepler_train.model_key import ModelKey
from kepler_train.models.component import ModelClass
from kepler_train.records import Record

SCHEMA_VERSION = 3
# The attribution of a model whose predictions for containers add up to that for their node by construction.
ADDITIVE = "additive"
Number = Annotated[float, Strict()]  # a text such as "nan" is none


class Interval(Record):
    """The interval of a component: predicted ± (constant + share · predicted), and how it was calibrated."""

    level: Number
    constant: Number
    share: Number
    rows: int = 0
    workloads: int = 0
    mean_width: Number = 0.0
    coverage: Number | None = None  # of workloads that it was not calibrated on


class WorkloadFigures(Record):
    """Errors of one component under one workload."""

    rows: int
    mae: Number
    joules: Number
    joules_off: Number
    energy_error: Number | None  # %


class ErrorFigures(Record):
    """Errors of one component under one protocol; None where there is no such figure."""

    mae: Number
    rmse: Number
    p95: Number
    mape: Number | None  # %
    idle_bias: Number | None
    worst_workload: str
    worst_workload_mae: Number
    energy_error: Number | None  # %
    energy_error_joules: Number | None
    energy_worst_workload: str | None
    mean_power: Number
    rows: int
    mape_rows: int
    mape_floor: Number
    workloads: dict[str, WorkloadFigures] = {}


ByComponent = dict[str, ErrorFigures]
ByProtocol = dict[str, ByComponent]


class TrivialFigures(Record):
    """Errors of a trivial model that stand on the card beside those of the model."""

    mae: Number
    mape: Number | None
    rmse: Number
    p95: Number
    idle_bias: Number | None
    worst_workload: str
    worst_workload_mae: Number
    energy_error: Number | None
    energy_worst_workload: str | None


class HoldingOut(Record):
    """How rows were held out: parts, windows that are in neither part, and the length of a window (s)."""

    folds: int
    gap_windows: int
    window_seconds: Number


class PreviousModel(Record):
    """The model published before, and whether it may have seen rows that it is compared on."""

    model: str
    overlaps: bool


class Parity(Record):
    """The rows on which the saved formats were compared with the trained model, and the largest difference of each."""

    rows: int
    watts: dict[str, Number]


class Identity(Record):
    """What a model is, and its files."""

    schema_version: int
    model_name: str
    trainer: str
    model_class: ModelClass
    model_file: str
    features: list[str]
    fe_files: list[str]
    node_type: int
    parity: Parity | None = None
    refused_formats: dict[str, str] = {}


class Training(Record):
    """What a model was trained on, and how."""

    output_type: str = ""
    energy_source: str = ""
    feature_group: str = ""
    machine_spec: dict[str, Any] = {}
    machine_id: str = ""
    origin: str = ""  # another tool, whose models have neither interval nor hull
    continued: bool = False
    interval: dict[str, Interval] = {}
    hull: dict[str, dict[str, Any]] = {}
    window: list[str] = []  # the times of the first and the last row
    rows: int = 0
    workloads: dict[str, int] = {}  # rows of each
    inputs: dict[str, int] = {}  # rows of each query, where there are several
    settings: dict[str, Any] = {}
    evaluation: HoldingOut | None = None
    trivial_features: dict[str, str] = {}  # what stands for CPU time in the trivial model
    features_from: str = ""
    main_features: dict[str, str] = {}  # what stands for the load
    notes: list[str] = []
    chosen: dict[str, list[str]] = {}  # trainers that `auto` chose
    left_out: dict[str, str] = {}  # trainers that failed, and why
    previous: PreviousModel | None = None
    additivity_error: dict[str, Number] | None = None
    attribution: str = ADDITIVE
    sharing: dict[str, dict[str, Number]] = {}  # weights of features in the attribution rule

    @property
    def end(self) -> datetime | None:
        """The time of the last row, where it is known."""
        return datetime.fromisoformat(self.window[1]) if len(self.window) == 2 else None


class ModelMetadata(Training, Identity):
    """All metadata of a model; what is unknown to this version is kept."""

    model_config = ConfigDict(extra="allow")

    mae: Number | None = None  # of the worst component in blocks of time, as mape (%)
    mape: Number | None = None
    refused: str = ""  # why it does not pass the gate
    figures: ByProtocol = {}
    trivial: dict[str, dict[str, dict[str, TrivialFigures]]] = {}  # by trivial model, protocol and component

    @property
    def key(self) -> ModelKey:
        """Which model of a run it is."""
        return ModelKey(self.energy_source, self.output_type, self.feature_group, self.trainer)

    def judged(self, mae: float, mape: float | None, figures: ByProtocol, **more: Any) -> ModelMetadata:
        """Return the metadata with the errors of the model, those in blocks of time also one by one."""
        apart = {
            f"{component}_{name}": getattr(errors, name)
            for component, errors in figures["blocked"].items()
            for name in ("mae", "mape")
        }
        known = {name: getattr(self, name) for name in (*self.model_fields_set, *(self.model_extra or {}))}
        return ModelMetadata(**known | {"mae": mae, "mape": mape, "figures": figures} | more | apart)

"""What a run is: one model behind Airflow's trigger form, the command line and the stored spec.

Fields are flat, so that each is one line of the trigger form; `section` groups them there. The parameter names of
the Tekton pipelines are read as aliases.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict

from kepler_train.catalog import OutputTypeName, catalog
from kepler_train.catalog.methods import ATTRIBUTION_RULES, EXTRACTORS, ISOLATORS
from kepler_train.catalog.own_trainers import trainer_names
from kepler_train.errors import UserError, unknown_name

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


def _split(value: Any) -> Any:
    """A list may also come as one string, separated by commas or lines."""
    return [part.strip() for part in re.split(r"[,\n]", value) if part.strip()] if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    """A list whose values may hold commas may also come as one string, a line each."""
    return [line.strip() for line in value.splitlines() if line.strip()] if isinstance(value, str) else value


def _to_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs its zone, as in 2026-11-14T02:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time lies beyond the calendar") from None


Names = Annotated[list[str], BeforeValidator(_split)]
Time = Annotated[datetime, AfterValidator(_to_utc)]

_TRAIN: JsonDict = {"section": "What to train"}
_COLLECT: JsonDict = {"section": "What to collect"}
_STRESS: JsonDict = {"section": "Stress"}
_JUDGE: JsonDict = {"section": "How to judge"}
_PUBLISH: JsonDict = {"section": "Where to publish"}

# Fields whose values are names of the catalog: validated by it, and offered as choices in the form.
_VOCABULARY: dict[str, tuple[str, Callable[[], Collection[str]]]] = {
    "energy_sources": ("energy source", lambda: catalog().energy_sources),
    "feature_groups": ("feature group", lambda: catalog().feature_groups),
    "extractor": ("extractor", lambda: EXTRACTORS),
    "isolator": ("isolator", lambda: ISOLATORS),
    "attribution": ("attribution rule", lambda: ATTRIBUTION_RULES),
    "abs_trainers": ("trainer", trainer_names),
    "dyn_trainers": ("trainer", trainer_names),
    "dialect": ("metric dialect", lambda: ["auto", *catalog().dialects]),
}


class RunSpec(BaseModel):
    """All that decides the result of a run. Times are UTC, powers W, durations s."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=False)

    pipeline: str = Field(
        "default",
        validation_alias="PIPELINE_NAME",
        pattern=NAME_PATTERN,
        description="Name of the pipeline: models are published under it.",
        json_schema_extra=_TRAIN,
    )
    machine_id: str = Field(
        "",
        validation_alias="MACHINE_ID",
        pattern=rf"^$|{NAME_PATTERN}",
        description="Name of the measured machine.",
        json_schema_extra=_TRAIN,
    )
    energy_sources: Names = Field(
        ["rapl-sysfs"],
        validation_alias="ENERGY_SOURCE",
        min_length=1,
        description="Power meters to learn from.",
        json_schema_extra=_TRAIN,
    )
    feature_groups: Names = Field(
        ["BPFOnly"],
        validation_alias="FEATURE_GROUP",
        min_length=1,
        description="Sets of features to train on.",
        json_schema_extra=_TRAIN,
    )
    output_types: Annotated[list[OutputTypeName], BeforeValidator(_split)] = Field(
        ["AbsPower", "DynPower"],
        validation_alias="OUTPUT_TYPE",
        min_length=1,
        description="AbsPower: power of the node. DynPower: power of containers, without idle power.",
        json_schema_extra=_TRAIN,
    )
    abs_trainers: Names = Field(
        ["LinearRegressionTrainer", "XgboostFitTrainer"],
        validation_alias="ABS_TRAINERS",
        min_length=1,
        description="Trainers for AbsPower.",
        json_schema_extra=_TRAIN,
    )
    dyn_trainers: Names = Field(
        ["LinearRegressionTrainer", "XgboostFitTrainer"],
        validation_alias="DYN_TRAINERS",
        min_length=1,
        description="Trainers for DynPower.",
        json_schema_extra=_TRAIN,
    )
    extractor: str = Field(
        "default", validation_alias="EXTRACTOR", description="How counters become rates.", json_schema_extra=_TRAIN
    )
    resolution: float = Field(
        0,
        ge=0,
        description="Length of a row's window (s); 0: the shortest in which the energy counter moves evenly.",
        json_schema_extra=_TRAIN,
    )
    isolator: str = Field(
        "auto",
        validation_alias="ISOLATOR",
        description="How the background's power is removed; auto: by profile where there is one, else min.",
        json_schema_extra=_TRAIN,
    )
    attribution: str = Field(
        "proportional", description="How dynamic power is shared among containers.", json_schema_extra=_TRAIN
    )
    target_hints: Names = Field(
        [],
        validation_alias="TARGET_HINTS",
        description="Parts of pod names that are the load; for the isolator trainer.",
        json_schema_extra=_TRAIN,
    )
    bg_hints: Names = Field(
        [],
        validation_alias="BG_HINTS",
        description="Parts of pod names that are background, unless target_hints say what is the load.",
        json_schema_extra=_TRAIN,
    )
    abs_pipeline: str = Field(
        "",
        validation_alias="ABS_PIPELINE_NAME",
        pattern=rf"^$|{NAME_PATTERN}",
        description="Pipeline whose AbsPower model the trainer isolator uses.",
        json_schema_extra=_TRAIN,
    )
    vm_train: bool = Field(
        False,
        description="Learn the power of virtual machines: the energy that Kepler on their host ascribes to them, from"
        " features that are scraped inside them.",
        json_schema_extra=_TRAIN,
    )
    continue_from: str = Field(
        "",
        pattern=rf"^$|{NAME_PATTERN}",
        description="Pipeline whose models of an earlier window training goes on from, where trainers can; its own or"
        " another. Empty: training starts afresh.",
        json_schema_extra=_TRAIN,
    )
    seed: int = Field(0, ge=0, description="Seed of every random choice.", json_schema_extra=_TRAIN)

    prometheus: str = Field(
        "http://127.0.0.1:9090",
        pattern=r"^https?://[^\s]+$",
        description="Address of the Prometheus HTTP API.",
        json_schema_extra=_COLLECT,
    )
    nodes: Names = Field(
        [], description="Nodes to learn from; empty: the one that is there.", json_schema_extra=_COLLECT
    )
    start: Time | None = Field(None, description="Start of the window (UTC).", json_schema_extra=_COLLECT)
    end: Time | None = Field(None, description="End of the window (UTC).", json_schema_extra=_COLLECT)
    window_seconds: float = Field(
        24 * 3600.0,
        gt=0,
        description="Length of the window when start or end is not given and the run has no data interval (s).",
        json_schema_extra=_COLLECT,
    )
    schedule: str = Field(
        "",
        description="File or s3:// address of the load phases in the window; empty: workloads are blocks of time.",
        json_schema_extra=_COLLECT,
    )
    dialect: str = Field(
        "auto", description="Metric names: legacy is Kepler up to 0.9, current 0.10 on.", json_schema_extra=_COLLECT
    )
    metric_prefix: str = Field(
        "kepler_",
        pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$",
        description="What Kepler's metric names start with.",
        json_schema_extra=_COLLECT,
    )
    thirdparty_metrics: Names = Field(
        [],
        validation_alias="THIRDPARTY_METRICS",
        description="Metrics of other exporters used as features.",
        json_schema_extra=_COLLECT,
    )

    stress: bool = Field(
        False,
        description="Stress the machine that the run works on now, and learn from that time: name no window then.",
        json_schema_extra=_STRESS,
    )
    stress_args: Annotated[list[str], BeforeValidator(_lines)] = Field(
        ["cpu;none;none", "branch;none;none", "regs;none;none", "l1cache;none;none", "cache;none;none"],
        validation_alias="STRESS_ARGS",
        description="Loads, one per line: load;extra key;extra value, and more pairs; none where not applicable.",
        json_schema_extra=_STRESS,
    )
    stress_timeout: float = Field(
        20, validation_alias="STRESS_TIMEOUT", gt=0, description="Length of a load (s).", json_schema_extra=_STRESS
    )
    stress_break_interval: float = Field(
        5,
        validation_alias="STRESS_BREAK_INTERVAL",
        ge=0,
        description="Pause between loads (s).",
        json_schema_extra=_STRESS,
    )
    idle_collect_interval: float = Field(
        100,
        validation_alias="IDLE_COLLECT_INTERVAL",
        ge=0,
        description="Length of the idle phases before and after the loads (s).",
        json_schema_extra=_STRESS,
    )
    cpu_frequency_enabled: bool = Field(
        False,
        validation_alias="CPU_FREQUENCY_ENABLED",
        description="Repeat every load at several CPU frequencies.",
        json_schema_extra=_STRESS,
    )

    gate_mae: float = Field(
        10, gt=0, description="A model passes with at most this error (W) …", json_schema_extra=_JUDGE
    )
    gate_mape: float = Field(20, gt=0, description="… or at most this error (%) …", json_schema_extra=_JUDGE)
    gate_limit: float = Field(100, gt=0, description="… and both below this limit.", json_schema_extra=_JUDGE)
    mape_floor: float = Field(
        1.0, gt=0, description="Rows below this power (W) do not count in MAPE.", json_schema_extra=_JUDGE
    )
    folds: int = Field(
        5, ge=2, le=100, description="Parts that the rows are cut into for held-out error.", json_schema_extra=_JUDGE
    )
    interval_level: float = Field(
        0.9,
        gt=0,
        lt=1,
        description="Share of measured power that a model's prediction interval is to hold.",
        json_schema_extra=_JUDGE,
    )

    publish_to: str = Field(
        "",
        description="Folder or s3:// address for models; empty: models/ in the workspace.",
        json_schema_extra=_PUBLISH,
    )
    preprocessed_csv: bool = Field(
        False,
        description="Keep the training rows as CSV files with the models, as earlier tools of Kepler do.",
        json_schema_extra=_PUBLISH,
    )
    legacy_pickles: bool = Field(
        False,
        description="Add the .pkl files that clients of kepler-model-server 0.7 load; kepler-train never loads them.",
        json_schema_extra=_PUBLISH,
    )
    publisher: str = Field("", description="Account named as publisher.", json_schema_extra=_PUBLISH)
    node_type: int = Field(0, ge=0, description="Node type index that the models are for.", json_schema_extra=_PUBLISH)
    cos_provider: Literal["none", "ibmcloud", "aws"] = Field(
        "none",
        validation_alias="COS_PROVIDER",
        description="Whose object store holds the secret below.",
        json_schema_extra=_PUBLISH,
    )
    cos_secret_name: str = Field(
        "",
        validation_alias="COS_SECRET_NAME",
        description="Kubernetes secret with the keys of the object store.",
        json_schema_extra=_PUBLISH,
    )

    @model_validator(mode="before")
    @classmethod
    def _known_parameters(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = {name: value for name, value in data.items() if value is not None}  # a field left empty in the form
        both = data.pop("TRAINERS", None)
        if both is not None:
            data.setdefault("ABS_TRAINERS", both)
            data.setdefault("DYN_TRAINERS", both)
        # Airflow hands over every field of the form: a Tekton name that somebody typed wins over a default.
        for field, info in cls.model_fields.items():
            if info.validation_alias in data:
                data[field] = data.pop(str(info.validation_alias))
        for name in data:
            if name not in cls.model_fields:
                raise ValueError(unknown_name("parameter", str(name), list(cls.model_fields)))
        return data

    @field_validator(*_VOCABULARY)
    @classmethod
    def _in_the_catalog(cls, value: str | list[str], info: Any) -> str | list[str]:
        kind, names = _VOCABULARY[info.field_name]
        for name in [value] if isinstance(value, str) else value:
            if name not in names():
                raise ValueError(unknown_name(kind, name, names()))
        return value

    @field_validator("energy_sources", "feature_groups", "output_types", "abs_trainers", "dyn_trainers", "nodes")
    @classmethod
    def _each_once(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(value))

    @field_validator("target_hints", "bg_hints")
    @classmethod
    def _regular_expressions(cls, value: list[str]) -> list[str]:
        for hint in value:
            try:
                re.compile(hint)
            except re.error as error:
                raise ValueError(f"{hint!r} is not a regular expression: {error}") from None
        return value

    @field_validator("prometheus")
    @classmethod
    def _no_secret_in_the_address(cls, value: str) -> str:
        if urlsplit(value).username is not None:
            raise ValueError(
                "credentials do not belong into an address: set PROMETHEUS_USERNAME and PROMETHEUS_PASSWORD"
            )
        return value.rstrip("/")

    @field_validator("thirdparty_metrics")
    @classmethod
    def _measured_not_computed(cls, value: list[str]) -> list[str]:
        for name in value:
            if any(name in dialect.computed.metrics for dialect in catalog().dialects.values()):
                raise ValueError(
                    f"{name} is computed by Kepler from CPU time and node energy: a model of it learns that arithmetic,"
                    " not the machine"
                )
        return value

    @field_validator("stress_args")
    @classmethod
    def _load_key_value(cls, value: list[str]) -> list[str]:
        for load in value:
            if not re.fullmatch(r"[a-z0-9-]+(;[a-z0-9-]+;[A-Za-z0-9.%-]+)*", load):
                raise ValueError(f"{load!r} is not of the form load;extra key;extra value")
        return value

    @model_validator(mode="after")
    def _group_fits_output_type(self) -> Self:
        for name in self.feature_groups:
            group = catalog().group(name)
            for output_type in self.output_types:
                if output_type not in group.output_types:
                    raise ValueError(
                        f"feature group {name} has no {output_type}: choose {' or '.join(group.output_types)}"
                    )
            if group.third_party == "required" and not self.thirdparty_metrics:
                raise ValueError(f"feature group {name} needs thirdparty_metrics: list the metrics to train on")
        return self

    def trainers(self, output_type: OutputTypeName) -> list[str]:
        """The trainers asked for, by output type."""
        return self.abs_trainers if output_type == "AbsPower" else self.dyn_trainers

    @property
    def window(self) -> tuple[datetime, datetime]:
        """The window of a planned run."""
        if self.start is None or self.end is None:
            raise UserError("The run has no window yet: give start and end, or let the plan step work it out.")
        return self.start, self.end

    def digest(self) -> str:
        """SHA-256 of the spec, the same for equal specs; a window that stress makes is a result, and no part of it."""
        made = {"start", "end"} if self.stress else None
        return hashlib.sha256(self.model_dump_json(exclude=made).encode()).hexdigest()


def read_spec(data: Any, where: str = "The run's parameters") -> RunSpec:
    """A spec from what a user gave; what is wrong with it is said in one sentence."""
    try:
        return RunSpec.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        first = problems[0]
        name = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        given = f" (given: {first['input']!r})" if first["type"] != "value_error" else ""
        more = f" {len(problems) - 1} more parameter(s) are wrong too." if len(problems) > 1 else ""
        raise UserError(
            f"{where}: {name + ': ' if name else ''}{message}{given}{'' if message[-1] in '.?' else '.'}{more}"
        ) from None


def form_schema() -> dict[str, dict[str, Any]]:
    """JSON schema of every parameter, by name, as Airflow's trigger form takes it."""
    properties: dict[str, dict[str, Any]] = RunSpec.model_json_schema(by_alias=False)["properties"]
    for name, (_, choices) in _VOCABULARY.items():
        if properties[name]["type"] == "array":
            properties[name]["items"] = {"type": "string", "enum": list(choices())}
        else:
            properties[name]["enum"] = list(choices())
    for schema in properties.values():
        if "anyOf" in schema:  # an optional value: one schema of two types
            branches = schema.pop("anyOf")
            schema.update(branches[0], type=[branch["type"] for branch in branches])
        if schema["default"] in ("", []):  # the form asks for a value unless null is one
            schema["type"] = [schema["type"], "null"]
        if schema.get("items", {}).get("enum"):
            schema["examples"] = schema["items"]["enum"]  # the form's multi-select reads these
    return properties

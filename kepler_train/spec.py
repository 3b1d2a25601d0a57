"""What a run is: one model behind Airflow's trigger form, the command line and the stored spec.

Fields are flat, so that each is one line of the trigger form; `section` groups them there. The parameter names of
the Tekton pipelines are read as aliases.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

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

from kepler_train.addresses import (
    SECRETS_OF_FILES,
    SECRETS_OF_SERVERS,
    SERVER_PATTERN,
    STORE_PATTERN,
    files_at,
    origin_of,
    secret_in,
    user_in,
)
from kepler_train.catalog import OutputTypeName, catalog
from kepler_train.catalog.methods import ATTRIBUTION_RULES, EXTRACTORS, ISOLATORS
from kepler_train.catalog.model import METRIC_PATTERN
from kepler_train.catalog.user_trainers import trainer_names
from kepler_train.errors import UserError, first_problem, unknown_name
from kepler_train.strict_json import name_problem

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
# A year, with a month to spare: the longest interval of a schedule (yearly) fits, a wrong year does not.
LONGEST_WINDOW = timedelta(days=400)
# The year in which Prometheus began.
EARLIEST = datetime(2012, 1, 1, tzinfo=UTC)
LEAST_KEPT = 3  # versions of a pipeline: the latest, the one before, and one more
LARGEST_NODE_TYPE = 999_999_999
_LONGEST_PHASE = LONGEST_WINDOW.total_seconds()  # of a stress run
_LONGEST_FILE_NAME = 255  # bytes, on every usual file system
_MOST_SHOWN = 200  # characters of a wrong value in a sentence


def _split(value: Any) -> Any:
    """Return a list from one string, separated by commas or lines; anything else as it is."""
    return [part.strip() for part in re.split(r"[,\n]", value) if part.strip()] if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    """Return a list from one string, a line each, as its values may hold commas; anything else as it is."""
    return [line.strip() for line in value.splitlines() if line.strip()] if isinstance(value, str) else value


def _short(value: object) -> str:
    """Return a wrong value as a sentence can hold it."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _to_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs its zone, as in 2026-11-14T02:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time lies beyond the calendar") from None


def _all_or_some(value: int) -> int:
    if 0 < value < LEAST_KEPT:
        raise ValueError(f"at least {LEAST_KEPT} versions are kept, or all with 0: {value} would leave no way back")
    return value


Names = Annotated[list[str], BeforeValidator(_split)]
Time = Annotated[datetime, AfterValidator(_to_utc)]


def _parameter(
    section: str, default: Any, help_: str, options: str = "", tekton: str = "", form: str = "", **bounds: Any
) -> Any:
    """Return a field of the spec: what the form, the file, the command line and the docs know of a parameter.

    `options` are its names on the command line, by default its name with dashes; `tekton` is its earlier name; `form`
    is the pattern by which Airflow refuses a value before it is stored with the run.
    """
    known: JsonDict = {"section": section, "options": options, **({"pattern": form} if form else {})}
    return Field(default, description=help_, validation_alias=tekton or None, json_schema_extra=known, **bounds)


_train = partial(_parameter, "What to train")
_collect = partial(_parameter, "What to collect")
_stress = partial(_parameter, "Stress")
_judge = partial(_parameter, "How to judge")
_publish = partial(_parameter, "Where to publish")

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


_TIME = {"pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})$"}
_LOAD = r"[a-z0-9-]+(;[a-z0-9-]+;[A-Za-z0-9.%-]+)*"
# What a schema can say of values that validators below refuse: Airflow refuses those before there is a run.
_REFUSED_AT_THE_TRIGGER: dict[str, JsonDict] = {
    "start": dict(_TIME),
    "end": dict(_TIME),
    "window_seconds": {"maximum": LONGEST_WINDOW.total_seconds()},
    "nodes": {"minLength": 1},
    "stress_args": {"pattern": f"^{_LOAD}$"},
    "thirdparty_metrics": {"pattern": METRIC_PATTERN},
}


def choices(name: str) -> Collection[str]:
    """Return the names that a parameter may have as its value; none where any value will do."""
    return _VOCABULARY[name][1]() if name in _VOCABULARY else ()


# Addresses among the parameters, and where the secrets belong that somebody may write into them.
_ADDRESSES = {"prometheus": SECRETS_OF_SERVERS, "schedule": SECRETS_OF_FILES, "publish_to": SECRETS_OF_FILES}


def secret_problem(data: dict[Any, Any]) -> str:
    """Return what looks like a secret in any parameter, without a word of it; empty where nothing does."""
    for name, value in data.items():
        if any(user_in(text) for text in _texts(name)):
            return "a parameter has an address with a user or a password for its name"
        for text in _texts(value):
            if name in _ADDRESSES and (secret := secret_in(text)):
                return (
                    f"{name}: credentials do not belong into an address, and this one has {secret} in it: set"
                    f" {_ADDRESSES[name]} instead"
                )
            if user_in(text):
                return f"{name}: an address in it has a user or a password: leave that out"
    return ""


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, however deep."""
    left = [value]
    while left:
        entry = left.pop()
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            left += [*entry, *entry.values()]
        elif isinstance(entry, list | tuple):
            left += entry


class RunSpec(BaseModel):
    """All that decides the result of a run. Times are UTC, powers W, durations s."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=False, hide_input_in_errors=True
    )

    pipeline: str = _train(
        "default",
        "Name of the pipeline: models are published under it.",
        "-p --pipeline-name",
        tekton="PIPELINE_NAME",
        pattern=NAME_PATTERN,
    )
    machine_id: str = _train(
        "", "Name of the measured machine.", "--id", tekton="MACHINE_ID", pattern=rf"^$|{NAME_PATTERN}"
    )
    energy_sources: Names = _train(
        ["rapl-sysfs"], "Power meters to learn from.", "-e --energy-source", tekton="ENERGY_SOURCE", min_length=1
    )
    feature_groups: Names = _train(
        ["BPFOnly"], "Sets of features to train on.", "-fg --feature-group", tekton="FEATURE_GROUP", min_length=1
    )
    output_types: Annotated[list[OutputTypeName], BeforeValidator(_split)] = _train(
        ["AbsPower", "DynPower"],
        "AbsPower: power of the node. DynPower: power of containers, without idle power.",
        "-ot --output-type",
        tekton="OUTPUT_TYPE",
        min_length=1,
    )
    abs_trainers: Names = _train(
        ["LinearRegressionTrainer", "XgboostFitTrainer"], "Trainers for AbsPower.", tekton="ABS_TRAINERS", min_length=1
    )
    dyn_trainers: Names = _train(
        ["LinearRegressionTrainer", "XgboostFitTrainer"], "Trainers for DynPower.", tekton="DYN_TRAINERS", min_length=1
    )
    extractor: str = _train("default", "How counters become rates.", tekton="EXTRACTOR")
    resolution: float = _train(
        0,
        "Length of a row's window (s); 0: the shortest in which the energy counter moves evenly.",
        ge=0,
        le=LONGEST_WINDOW.total_seconds(),
    )
    isolator: str = _train(
        "auto",
        "How the background's power is removed; auto: by profile where there is one, else min.",
        tekton="ISOLATOR",
    )
    attribution: str = _train("proportional", "How dynamic power is shared among containers.")
    target_hints: Names = _train(
        [], "Parts of pod names that are the load; for the isolator trainer.", tekton="TARGET_HINTS"
    )
    bg_hints: Names = _train(
        [], "Parts of pod names that are background, unless target_hints say what is the load.", tekton="BG_HINTS"
    )
    abs_pipeline: str = _train(
        "",
        "Pipeline whose AbsPower model the trainer isolator uses.",
        "--abs-pipeline-name",
        tekton="ABS_PIPELINE_NAME",
        pattern=rf"^$|{NAME_PATTERN}",
    )
    vm_train: bool = _train(
        False,
        "Learn the power of virtual machines: the energy that Kepler on their host ascribes to them, from"
        " features that are scraped inside them.",
    )
    continue_from: str = _train(
        "",
        "Pipeline whose models of an earlier window training goes on from, where trainers can; its own or"
        " another. Empty: training starts afresh.",
        pattern=rf"^$|{NAME_PATTERN}",
    )
    seed: int = _train(0, "Seed of every random choice.", ge=0, le=2**32 - 1)

    prometheus: str = _collect(
        "http://127.0.0.1:9090", "Address of the Prometheus HTTP API.", "--server", form=SERVER_PATTERN
    )
    nodes: Names = _collect([], "Nodes to take; a run that names none has the one that is there.", "--nodes --node")
    start: Time | None = _collect(None, "Start of the window (UTC).", "--start-time")
    end: Time | None = _collect(None, "End of the window (UTC).", "--end-time")
    window_seconds: float = _collect(
        24 * 3600.0,
        "Length of the window when start or end is not given and the run has no data interval (s); at most 400 days.",
        "--interval",
        gt=0,
    )
    schedule: str = _collect(
        "",
        "File or s3:// address of the load phases in the window; empty: workloads are blocks of time.",
        form=STORE_PATTERN,
    )
    dialect: str = _collect("auto", "Metric names: legacy is Kepler up to 0.9, current 0.10 on.")
    metric_prefix: str = _collect(
        "kepler_", "What Kepler's metric names start with.", pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]{0,99}$"
    )
    thirdparty_metrics: Names = _collect(
        [], "Metrics of other exporters used as features.", tekton="THIRDPARTY_METRICS"
    )

    reuse: bool = _collect(
        False,
        "Take what an earlier run of the same id has collected, if it was asked for the same, instead of collecting"
        " again.",
        exclude=True,  # decides what is done, and not the result
    )

    stress: bool = _stress(
        False, "Stress the machine that the run works on now, and learn from that time: name no window then."
    )
    stress_args: Annotated[list[str], BeforeValidator(_lines)] = _stress(
        ["cpu;none;none", "branch;none;none", "regs;none;none", "l1cache;none;none", "cache;none;none"],
        "Loads, one per line: load;extra key;extra value, and more pairs; none where not applicable.",
        tekton="STRESS_ARGS",
    )
    stress_timeout: float = _stress(
        20, "Length of a load (s).", "--timeout", tekton="STRESS_TIMEOUT", gt=0, le=_LONGEST_PHASE
    )
    stress_break_interval: float = _stress(
        5, "Pause between loads (s).", "--break", tekton="STRESS_BREAK_INTERVAL", ge=0, le=_LONGEST_PHASE
    )
    idle_collect_interval: float = _stress(
        100,
        "Length of the idle phases before and after the loads (s).",
        "--idle",
        tekton="IDLE_COLLECT_INTERVAL",
        ge=0,
        le=_LONGEST_PHASE,
    )
    cpu_frequency_enabled: bool = _stress(
        False,
        "Repeat every load at several CPU frequencies.",
        "--frequency-sweep/--no-frequency-sweep",
        tekton="CPU_FREQUENCY_ENABLED",
    )

    gate_mae: float = _judge(10, "A model passes with at most this error (W) …", gt=0)
    gate_mape: float = _judge(20, "… or at most this error (%) …", gt=0)
    gate_limit: float = _judge(100, "… and both at most this limit, under unseen load and forward too.", gt=0)
    mape_floor: float = _judge(1.0, "Rows below this power (W) do not count in MAPE.", gt=0)
    folds: int = _judge(5, "Parts that the rows are cut into for held-out error.", ge=2, le=100)
    interval_level: float = _judge(
        0.9, "Share of measured power that a model's prediction interval is to hold.", gt=0, lt=1
    )

    publish_to: str = _publish(
        "", "Folder or s3:// address for models; empty: models/ in the workspace.", form=STORE_PATTERN
    )
    keep: Annotated[int, AfterValidator(_all_or_some)] = _publish(
        30,
        f"Versions of the pipeline that are kept, the newest, beside those that latest or a pin names: at least"
        f" {LEAST_KEPT}, or 0 for all.",
        ge=0,
        le=1_000_000,
    )
    promote: Literal["better", "always", "never"] = _publish(
        "better",
        "When a new version becomes latest: better: unless it is worse than the present one beyond the noise; always;"
        " never: it is stored only.",
    )
    preprocessed_csv: bool = _publish(
        False,
        "Keep the training rows as CSV files with the models, as earlier tools of Kepler do.",
        "--preprocessed-data",
    )
    legacy_pickles: bool = _publish(
        False, "Add the .pkl files that clients of kepler-model-server 0.7 load; kepler-train never loads them."
    )
    publisher: str = _publish("", "Account named as publisher.")
    node_type: int | None = _publish(
        None,
        "Node type of the models; empty: found by the machine's spec.",
        ge=0,
        le=LARGEST_NODE_TYPE,
    )
    own_node_type: bool = _publish(False, "Give a machine of unknown spec a node type of its own.")
    cos_provider: Literal["none", "ibmcloud", "aws"] = _publish(
        "none", "Whose object store holds the secret below.", tekton="COS_PROVIDER"
    )
    cos_secret_name: str = _publish(
        "", "Kubernetes secret with the keys of the object store.", tekton="COS_SECRET_NAME"
    )

    @model_validator(mode="before")
    @classmethod
    def _known_parameters(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if problem := secret_problem(data):  # before any other sentence could repeat it
            raise ValueError(problem)
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

    @field_validator("nodes")
    @classmethod
    def _names_of_folders(cls, value: list[str]) -> list[str]:
        for name in value:
            if problem := name_problem(name):
                raise ValueError(problem)
            if len(quote(name, ":")) > _LONGEST_FILE_NAME:
                raise ValueError(f"the name {_short(name)} is too long for that of a folder")
        return value

    @field_validator("target_hints", "bg_hints")
    @classmethod
    def _regular_expressions(cls, value: list[str]) -> list[str]:
        for hint in value:
            try:
                re.compile(hint)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{_short(hint)} is not a regular expression: {error}") from None
        return value

    @field_validator("prometheus")
    @classmethod
    def _names_a_server(cls, value: str) -> str:
        origin = origin_of(value)
        return f"{origin.scheme}{value[len(origin.scheme) :]}".rstrip("/")

    @field_validator("schedule", "publish_to")
    @classmethod
    def _names_files(cls, value: str) -> str:
        files_at(value)
        return value

    @field_validator("thirdparty_metrics")
    @classmethod
    def _measured_not_computed(cls, value: list[str]) -> list[str]:
        for name in value:
            if not re.fullmatch(METRIC_PATTERN, name):
                raise ValueError(f"{_short(name)} is not the name of a metric")
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
            if not re.fullmatch(_LOAD, load):
                raise ValueError(f"{_short(load)} is not of the form load;extra key;extra value")
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
        """Return the trainers for an output type."""
        return self.abs_trainers if output_type == "AbsPower" else self.dyn_trainers

    @property
    def window(self) -> tuple[datetime, datetime]:
        """Return the window of a planned run."""
        if self.start is None or self.end is None:
            raise UserError("The run has no window yet: give start and end, or let the plan step work it out.")
        return self.start, self.end

    @property
    def settled_node_type(self) -> int:
        """Return the node type of a run whose machine is known."""
        if self.node_type is None:
            raise UserError("The run has no node type yet: name one in node_type, or let the isolate step find it.")
        return self.node_type

    def digest(self) -> str:
        """Return the SHA-256 of what decides about the models: not where they go, nor a window that stress makes."""
        made = {"start", "end"} if self.stress else set()
        return hashlib.sha256(self.model_dump_json(exclude={"publish_to", *made}).encode()).hexdigest()


def read_spec(data: Any, where: str = "The run's parameters") -> RunSpec:
    """Return the spec that a user described; refuse what is wrong with it in one sentence."""
    try:
        return RunSpec.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        name, message = first_problem(error)
        given = f" (given: {_short(problems[0]['input'])})" if problems[0]["type"] != "value_error" else ""
        more = f" {len(problems) - 1} more parameter(s) are wrong too." if len(problems) > 1 else ""
        raise UserError(
            f"{where}: {name + ': ' if name else ''}{message}{given}{'' if message[-1] in '.?' else '.'}{more}"
        ) from None


def form_values(spec: RunSpec) -> dict[str, Any]:
    """Return the value of every parameter, by name, as Airflow's trigger form takes it."""
    left_out = {name: getattr(spec, name) for name, field in RunSpec.model_fields.items() if field.exclude}
    return spec.model_dump(mode="json") | left_out


def set_values(spec: RunSpec) -> dict[str, Any]:
    """Return the values that somebody has set, by the parameters' own names, to be read again."""
    return {name: value for name, value in form_values(spec).items() if name in spec.model_fields_set}


def form_schema() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of every parameter, by name, as Airflow's trigger form takes it."""
    properties: dict[str, dict[str, Any]] = RunSpec.model_json_schema(by_alias=False)["properties"]
    for name, (_, choices) in _VOCABULARY.items():
        if properties[name]["type"] == "array":
            properties[name]["items"] = {"type": "string", "enum": list(choices())}
        else:
            properties[name]["enum"] = list(choices())
    for name, refinement in _REFUSED_AT_THE_TRIGGER.items():
        schema = properties[name]
        schema.get("items", schema).update(refinement)
    for schema in properties.values():
        del schema["options"]  # of the command line
        if "anyOf" in schema:  # an optional value: one schema of two types
            branches = schema.pop("anyOf")
            schema.update(branches[0], type=[branch["type"] for branch in branches])
        if schema["default"] in ("", []):  # the form asks for a value unless null is one
            schema["type"] = [schema["type"], "null"]
        if schema.get("items", {}).get("enum"):
            schema["examples"] = schema["items"]["enum"]  # the form's multi-select reads these
    return properties

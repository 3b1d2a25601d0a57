"""The shape of the catalog: what an entry may hold, and that entries fit together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from kepler_train.errors import UserError, unknown_name

# What Prometheus calls a metric, of a length that a file's name can have.
METRIC_PATTERN = r"^[a-zA-Z_:][a-zA-Z0-9_:]{0,200}$"
OutputTypeName = Literal["AbsPower", "DynPower"]
DRAM, PLATFORM = "dram", "platform"
T = TypeVar("T")


def _regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _template(of: str) -> AfterValidator:
    """Return a check that a text is a metric, but for the name of something in braces, and has no other braces."""

    def check(text: str) -> str:
        if not re.fullmatch(METRIC_PATTERN, text.replace(f"{{{of}}}", "x")):
            raise ValueError(f"{text!r} is not the name of a metric, with {{{of}}} in it")
        return text

    return AfterValidator(check)


# Folders, columns and files are named after entries, and after what they list.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$")]
Metric = Annotated[str, Field(pattern=METRIC_PATTERN)]
Label = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]{0,200}$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Entry(BaseModel):
    """A catalog entry: fixed once loaded, and without keys that nobody reads.

    Keys that earlier versions had are ignored in users' files.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    retired: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if name not in cls.retired}


class FeatureAlias(Entry):
    """An older name of a feature; old value · factor = new value."""

    feature: Name
    factor: Positive


class FeatureGroup(Entry):
    """A selection of features; `main` drives curve models and attribution (dram: `main_dram`).

    Features of `optional` sets are left out where they have no data.
    """

    sets: list[str]
    optional: list[str] = []
    main: str | None = None
    main_dram: str | None = None
    output_types: list[OutputTypeName] = ["AbsPower", "DynPower"]
    third_party: Literal["never", "when listed", "required"] = "never"

    def main_feature(self, component: str) -> str | None:
        """Return the feature that stands for the load of `component`."""
        return self.main_dram if component == DRAM and self.main_dram else self.main


class EnergySource(Entry):
    """A power meter and the components it tells apart."""

    retired = frozenset({"meter"})

    components: list[Name] = Field(min_length=1)


class EnergyNames(Entry):
    """How one dialect of Kepler names the energy (J) of nodes and, on their host, of virtual machines."""

    retired = frozenset({"starts_at_zero"})

    metric: Annotated[str, _template("component")]
    vm_metric: Annotated[str, _template("component")]
    vm_label: Label
    platform_metric: Metric | None = None
    source_label: Label | None = None
    zone_label: Label | None = None
    zones: list[str] = []
    add_over: list[Label] = []
    package_label: Label | None = None

    def metric_of(self, component: str) -> str:
        """Return the metric with the energy of `component`: a counter (J), or `platform_metric`, a gauge (W)."""
        if component == PLATFORM and self.platform_metric:
            return self.platform_metric
        return self.metric.format(component=component)

    def vm_metric_of(self, component: str) -> str | None:
        """Return the metric with the energy (J) of `component` of VMs; None where the zones do not have it."""
        if self.zone_label and component not in self.zones:
            return None
        return self.vm_metric.format(component=component)


# A mean is a gauge that tells of the time since the reading before, not of the instant at which it is read.
Kind = Literal["counter", "gauge", "mean"]


class NodeFeature(Entry):
    """A metric of the node, not of its containers; `label` tells its series apart.

    They are added, or their mean is taken; kept `apart`, each value of the label is a feature `<name>_<value>`.
    A container has the node's value, or, with `share_by`, a part of it in proportion to its own value of that feature.
    """

    metric: Metric
    kind: Kind = "counter"
    label: Label | None = None
    combine: Literal["sum", "mean", "apart"] = "sum"
    share_by: str | None = None


class WorkloadFeature(Entry):
    """A feature of containers, and of processes: those outside containers, or all without the container metric."""

    container: Metric
    process: Metric


class ExporterFeature(NodeFeature):
    """A feature of the node from another exporter: the sum over the series that match.

    `match` has labels and the value each must have; `skip` labels and a regular expression that none may match whole.
    """

    match: dict[str, str] = {}
    skip: dict[str, Annotated[str, AfterValidator(_regular_expression)]] = {}

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a series is part of the feature."""
        return all(labels.get(name) == value for name, value in self.match.items()) and not any(
            re.fullmatch(pattern, labels.get(name, "")) for name, pattern in self.skip.items()
        )


class FeatureNames(Entry):
    """How one dialect of Kepler names features: by a template, or one by one."""

    retired = frozenset({"process", "process_labels", "package_ratio", "package_ratio_label"})

    container: Annotated[str, _template("feature")] | None = None
    lacks: list[str] = []
    named: dict[Name, WorkloadFeature] = {}
    node: dict[Name, NodeFeature] = {}

    def metrics_of(self, feature: str) -> list[str]:
        """Return the metrics that hold `feature`, the finest last; none where this dialect has none."""
        if feature in self.node:
            return [self.node[feature].metric]
        if feature in self.named:
            return [self.named[feature].container, self.named[feature].process]
        return [self.container.format(feature=feature)] if self.container else []


class Computed(Entry):
    """Metrics that Kepler computes from CPU time: never a label."""

    metrics: list[str]


class NameMetrics(Entry):
    """Metrics whose labels name containers and pods; of each list one is enough."""

    container: list[Metric]
    pod: list[Metric]


class Dialect(Entry):
    """The metric and label names of a range of Kepler versions."""

    retired = frozenset({"port"})

    kepler_versions: str
    node_label: Label
    default_group: str
    container_labels: list[Label] = Field(min_length=1)
    system_container: str
    refresh_seconds: Positive | None = None
    energy: EnergyNames
    features: FeatureNames
    names: NameMetrics | None = None
    computed: Computed


class TrainerEntry(Entry):
    """A trainer by the name users know: its module in kepler_train/train/trainers/, and its settings."""

    retired = frozenset({"model_class", "formula"})

    module: str
    settings: dict[str, Any] = {}


class Catalog(Entry):
    """The whole vocabulary. Look-ups answer an unknown name with the nearest right one."""

    retired = frozenset({"output_types", "extractors", "isolators", "attributions"})

    feature_sets: dict[Name, list[Name]]
    feature_aliases: dict[str, FeatureAlias] = {}
    feature_groups: dict[Name, FeatureGroup]
    energy_sources: dict[Name, EnergySource]
    dialects: dict[Name, Dialect]
    exporter_features: dict[Name, ExporterFeature] = {}
    trainers: dict[str, TrainerEntry]

    @model_validator(mode="after")
    def _entries_fit_together(self) -> Self:
        features = {feature for members in self.feature_sets.values() for feature in members}
        for name, group in self.feature_groups.items():
            for feature_set in group.sets:
                if feature_set not in self.feature_sets:
                    raise ValueError(
                        f"feature group {name}: {unknown_name('feature set', feature_set, self.feature_sets)}"
                    )
            for feature_set in group.optional:
                if feature_set not in group.sets:
                    raise ValueError(f"feature group {name}: its optional set {feature_set} is not one of its sets")
            for main in (group.main, group.main_dram):
                if main is not None and main not in self.features_of(name):
                    raise ValueError(f"feature group {name}: its main feature {main} is not one of its features")
        for name, dialect in self.dialects.items():
            if dialect.default_group not in self.feature_groups:
                raise ValueError(
                    f"dialect {name}: {unknown_name('feature group', dialect.default_group, self.feature_groups)}"
                )
            for feature_set in dialect.features.lacks:
                if feature_set not in self.feature_sets:
                    raise ValueError(f"dialect {name}: {unknown_name('feature set', feature_set, self.feature_sets)}")
        for name in self.exporter_features:
            if name not in features:
                raise ValueError(f"exporter feature {name}: {unknown_name('feature', name, sorted(features))}")
        for name, alias in self.feature_aliases.items():
            if alias.feature not in features:
                raise ValueError(f"feature alias {name}: {unknown_name('feature', alias.feature, sorted(features))}")
        return self

    def features_of(self, group: str, third_party: Iterable[str] = ()) -> list[str]:
        """Return the features of a group, sorted by name."""
        entry = self.group(group)
        features = {feature for name in entry.sets for feature in self.feature_sets[name]}
        return sorted(features if entry.third_party == "never" else features | set(third_party))

    def optional_features(self, group: str) -> dict[str, str]:
        """Return the features that a group can do without, each with its set."""
        return {feature: name for name in self.group(group).optional for feature in self.feature_sets[name]}

    def columns_of(self, feature: str, columns: Iterable[str]) -> list[str]:
        """Return the columns of a feature: its own or, where its series are kept apart, one for each label value."""
        apart = any(entry.combine == "apart" for entry in self._of_node(feature))
        return sorted(name for name in columns if name == feature or (apart and name.startswith(f"{feature}_")))

    def of_node(self, column: str) -> list[NodeFeature]:
        """Return the entries of dialects and other exporters for a column that is a feature of the node."""
        entries = self._of_node(column)
        for name, entry in ((n, e) for dialect in self.dialects.values() for n, e in dialect.features.node.items()):
            if entry.combine == "apart" and column.startswith(f"{name}_"):
                entries.append(entry)
        return entries

    def adds_up(self, column: str) -> bool:
        """Return whether the values of containers add up to that of their node; else each has the node's value."""
        return all(feature.share_by for feature in self.of_node(column))

    def _of_node(self, feature: str) -> list[NodeFeature]:
        places: list[Mapping[str, NodeFeature]] = [
            *(dialect.features.node for dialect in self.dialects.values()),
            self.exporter_features,
        ]
        return [place[feature] for place in places if feature in place]

    def group(self, name: str) -> FeatureGroup:
        """Return the feature group of that name."""
        return _look_up("feature group", name, self.feature_groups)

    def source(self, name: str) -> EnergySource:
        """Return the energy source of that name."""
        return _look_up("energy source", name, self.energy_sources)

    def dialect(self, name: str) -> Dialect:
        """Return the dialect of that name."""
        return _look_up("metric dialect", name, self.dialects)

    def trainer(self, name: str) -> TrainerEntry:
        """Return the trainer of that name."""
        return _look_up("trainer", name, self.trainers)

    def kind_of(self, metric: str) -> Kind:
        """Return whether a metric counts or is a level: from the catalog, else by the naming rules of Prometheus."""
        for dialect in self.dialects.values():
            for feature in (*dialect.features.node.values(), *self.exporter_features.values()):
                if feature.metric == metric:
                    return feature.kind
        return "counter" if metric.endswith(("_total", "_sum", "_count", "_bucket")) else "gauge"

    def is_counter(self, metric: str) -> bool:
        """Tell whether a metric only grows, but for resets."""
        return self.kind_of(metric) == "counter"

    def metrics_of(self, feature: str, dialect: Dialect) -> list[str]:
        """Return the metrics that hold a feature, of which one is enough; none where the dialect has none."""
        if feature in self.exporter_features:
            return [self.exporter_features[feature].metric]
        lacking = {name for feature_set in dialect.features.lacks for name in self.feature_sets[feature_set]}
        return [] if feature in lacking else dialect.features.metrics_of(feature)

    def served_source(self, name: str) -> str:
        """Return the source that models are filed under: any RAPL, and none, is served as rapl-sysfs."""
        return "rapl-sysfs" if not name or "rapl" in name else name


def _look_up(kind: str, name: str, entries: dict[str, T]) -> T:
    try:
        return entries[name]
    except KeyError:
        raise UserError(unknown_name(kind, name, entries)) from None

"""The metrics that a run needs, in a dialect of Kepler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kepler_train.catalog import Dialect, catalog
from kepler_train.samples.labels import Labels
from kepler_train.samples.nodes import Nodes
from kepler_train.spec import RunSpec

_OWN_PREFIX = "kepler_"


class EnergyMetric(NamedTuple):
    """The metric that has the energy of a component, as a source measures it."""

    source: str
    component: str
    metric: str


@dataclass(frozen=True)
class RequiredMetrics:
    """The metrics of a run: energy, Kepler's features, features of other exporters, and names of containers.

    Of each list of `names` the labels of one metric are needed, without samples. With a `vm_label`, the machines are
    virtual ones, which that label of their energy names.
    """

    dialect: str
    node_label: str
    energy: list[str]
    features: list[str]
    foreign: frozenset[str]
    names: tuple[tuple[str, ...], ...] = ()
    vm_label: str = ""
    meters: tuple[EnergyMetric, ...] = ()

    def nodes(self, energy: Iterable[Labels]) -> Nodes:
        """Return the machines that energy is of."""
        return Nodes.of_vms(self.vm_label, energy) if self.vm_label else Nodes.of(self.node_label, energy)

    def every_node(self, labels: Callable[[str], Sequence[Labels]], *, others: bool) -> Nodes:
        """Return the machines of any series of energy or of Kepler's features, by the labels of each metric.

        With `others`, a target of another exporter that is none of them is a machine of its own.
        """
        known = [series for metric in (*self.energy, *self.of_kepler) for series in labels(metric)]
        exported = {feature.metric for feature in catalog().exporter_features.values()}
        for metric in sorted(self.foreign, key=lambda metric: (metric not in exported, metric)) if others else ():
            foreign = labels(metric)
            placed = {position for positions in self.nodes(known).split(foreign).values() for position in positions}
            known += [series for position, series in enumerate(foreign) if position not in placed]
        return self.nodes(known)

    @property
    def of_kepler(self) -> list[str]:
        """Return the metrics of features that Kepler itself exports."""
        return [metric for metric in self.features if metric not in self.foreign]

    @property
    def metrics(self) -> list[str]:
        """Return every metric to query."""
        return [*self.energy, *self.features]


def required_metrics(spec: RunSpec, name: str) -> RequiredMetrics:
    """Return the metrics for all feature groups and energy sources of the spec at once."""
    dialect = catalog().dialect(name)
    meters = tuple(
        EnergyMetric(source, component, metric)
        for source in spec.energy_sources
        for component in catalog().source(source).components
        if (metric := energy_metric(spec, dialect, component))
    )
    energy = {meter.metric for meter in meters}
    features = {
        metric
        for group in spec.feature_groups
        for metrics in feature_metrics(spec, group, dialect).values()
        for metric in metrics
    }
    exported = {feature.metric for feature in catalog().exporter_features.values()}
    foreign = frozenset(features & (exported | set(spec.thirdparty_metrics)))
    lists = (dialect.names.container, dialect.names.pod) if dialect.names else ()
    names = tuple(tuple(prefixed(metric, spec) for metric in metrics) for metrics in lists)
    return RequiredMetrics(
        name, dialect.node_label, sorted(energy), sorted(features), foreign, names, vm_label_of(spec, dialect), meters
    )


def energy_metric(spec: RunSpec, dialect: Dialect, component: str) -> str | None:
    """Return the metric of the energy of a component: of the node or, in VM training, of virtual machines."""
    name = dialect.energy.vm_metric_of(component) if spec.vm_train else dialect.energy.metric_of(component)
    return prefixed(name, spec) if name else None


def is_measured_by(labels: Labels, source: str, component: str, dialect: Dialect) -> bool:
    """Return whether a series of the component's metric is of this source, and of the component's zone.

    A VM that has ended is shown once more, with its last values; that series is left out.
    """
    names = dialect.energy
    if labels.get("state", "running") != "running":
        return False
    if names.zone_label and component in names.zones and labels.get(names.zone_label) != component:
        return False
    meter = labels.get(names.source_label or "", source)
    return catalog().served_source(meter) == catalog().served_source(source)


def vm_label_of(spec: RunSpec, dialect: Dialect) -> str:
    """Return the label that names virtual machines where their energy is learnt from; else nothing."""
    return dialect.energy.vm_label if spec.vm_train else ""


def every_group(third_party: Collection[str]) -> list[str]:
    """Return the feature groups that can be requested: all, less those that need metrics which nobody listed."""
    groups = catalog().feature_groups
    return [name for name, group in groups.items() if third_party or group.third_party != "required"]


def feature_metrics(spec: RunSpec, group: str, dialect: Dialect) -> dict[str, list[str]]:
    """Return the metrics of each feature of a group; any one is enough, and a dialect may have none."""
    return {
        feature: _metrics_of(spec, feature, dialect)
        for feature in catalog().features_of(group, spec.thirdparty_metrics)
    }


def _metrics_of(spec: RunSpec, feature: str, dialect: Dialect) -> list[str]:
    if feature in spec.thirdparty_metrics:
        return [feature]
    metrics = catalog().metrics_of(feature, dialect)
    return metrics if feature in catalog().exporter_features else [prefixed(metric, spec) for metric in metrics]


def prefixed(metric: str, spec: RunSpec) -> str:
    """Return Kepler's metric name under the prefix of this installation."""
    return spec.metric_prefix + metric.removeprefix(_OWN_PREFIX)

"""Which metrics a run needs, in a dialect of Kepler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from kepler_train.catalog import Dialect, catalog
from kepler_train.samples.nodes import Labels, Nodes
from kepler_train.spec import RunSpec

_OWN_PREFIX = "kepler_"


@dataclass(frozen=True)
class Wanted:
    """The metrics of a run: energy, Kepler's features, features from other exporters, and what names containers.

    Of each list of `names` the labels of one metric are wanted, without samples. With a `vm_label`, the machines are
    virtual ones, which that label of their energy names.
    """

    dialect: str
    node_label: str
    energy: list[str]
    features: list[str]
    foreign: frozenset[str]
    names: tuple[tuple[str, ...], ...] = ()
    vm_label: str = ""

    def nodes(self, energy: Iterable[Labels]) -> Nodes:
        """The machines that energy is of."""
        return Nodes.of_vms(self.vm_label, energy) if self.vm_label else Nodes.of(self.node_label, energy)

    def every_node(self, labels: Callable[[str], Sequence[Labels]], *, others: bool) -> Nodes:
        """The machines that anything is of, by the labels of the series of each metric: energy, or features of Kepler.

        With `others`, a target of another exporter that is none of them is a machine of its own.
        """
        known: list[Labels] = [one for metric in (*self.energy, *self.of_kepler) for one in labels(metric)]
        exported = {feature.metric for feature in catalog().exporter_features.values()}
        for metric in sorted(self.foreign, key=lambda metric: (metric not in exported, metric)) if others else ():
            many = labels(metric)
            placed = {place for own in self.nodes(known).split(many).values() for place in own}
            known += [one for place, one in enumerate(many) if place not in placed]
        return self.nodes(known)

    @property
    def of_kepler(self) -> list[str]:
        """The metrics of features that Kepler itself exports."""
        return [metric for metric in self.features if metric not in self.foreign]

    @property
    def metrics(self) -> list[str]:
        """Every metric to ask for."""
        return [*self.energy, *self.features]


def wanted(spec: RunSpec, name: str) -> Wanted:
    """What to ask for, for all feature groups and energy sources of the spec at once."""
    dialect = catalog().dialect(name)
    energy = {
        metric
        for source in spec.energy_sources
        for component in catalog().source(source).components
        if (metric := energy_metric(spec, dialect, component))
    }
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
    return Wanted(
        name, dialect.node_label, sorted(energy), sorted(features), foreign, names, vm_label_of(spec, dialect)
    )


def energy_metric(spec: RunSpec, dialect: Dialect, component: str) -> str | None:
    """The metric of the energy of a component: of the node or, in VM training, of virtual machines."""
    name = dialect.energy.vm_metric_of(component) if spec.vm_train else dialect.energy.metric_of(component)
    return prefixed(name, spec) if name else None


def vm_label_of(spec: RunSpec, dialect: Dialect) -> str:
    """The label that names virtual machines where their energy is learnt from; else empty."""
    return dialect.energy.vm_label if spec.vm_train else ""


def every_group(third_party: Collection[str]) -> list[str]:
    """The feature groups that could be asked for: all, less those that need metrics which nobody listed."""
    groups = catalog().feature_groups
    return [name for name, group in groups.items() if third_party or group.third_party != "required"]


def feature_metrics(spec: RunSpec, group: str, dialect: Dialect) -> dict[str, list[str]]:
    """The metrics of each feature of a group, of which one is enough; none where this dialect has none."""
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
    """Kepler's metric name under the prefix that this installation gives it."""
    return spec.metric_prefix + metric.removeprefix(_OWN_PREFIX)

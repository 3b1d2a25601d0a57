"""The node of a series: Kepler's series name it; those of other exporters are matched to Kepler's nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kepler_train.samples.labels import INSTANCE, Labels

# Labels by which scrape configurations name the node of a target; their value counts when it is a node of Kepler's.
_NODE_LABELS = ("node_name", "node", "nodename", "kubernetes_node", "exported_instance", "host", "hostname", INSTANCE)


@dataclass(frozen=True)
class Nodes:
    """The nodes that Kepler reports on, and the targets at which it is scraped for each."""

    label: str
    names: frozenset[str]
    by_instance: Mapping[str, str] = field(default_factory=dict)
    by_host: Mapping[str, str] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()  # targets that are none of these nodes: the hosts of VMs

    @classmethod
    def of_vms(cls, label: str, energy: Iterable[Labels]) -> Nodes:
        """Return the virtual machines of energy series, which are scraped on their hosts; `label` names them."""
        pairs = {(own_node(labels, label), labels.get(INSTANCE, "")) for labels in energy}
        names = frozenset(name for name, _ in pairs)
        hosts = _unambiguous((_host(name), name) for name in names)
        return cls(label, names, by_host=hosts, elsewhere=frozenset(place for _, place in pairs))

    @classmethod
    def of(cls, label: str, energy: Iterable[Labels]) -> Nodes:
        """Return the nodes of Kepler's energy series; `label` is the one by which its dialect names nodes."""
        pairs = {(own_node(labels, label), labels.get(INSTANCE, "")) for labels in energy}
        hosts = {(node, _host(place)) for node, place in pairs} | {(node, _host(node)) for node, _ in pairs}
        return cls(
            label,
            frozenset(node for node, _ in pairs),
            _unambiguous((place, node) for node, place in pairs),
            _unambiguous((host, node) for node, host in hosts),
        )

    def node_of(self, labels: Labels) -> str | None:
        """Return the node of a series: by Kepler's label, its target, another label that names a node, or its host."""
        name, target = labels.get(self.label, ""), labels.get(INSTANCE, "")
        if name in self.names and name:
            return name
        if target in self.by_instance:
            return self.by_instance[target]
        other = next((labels[name] for name in _NODE_LABELS if labels.get(name, "") in self.names - {""}), None)
        return other or self.by_host.get(_host(target))

    def split(self, series: Iterable[Labels]) -> dict[str, list[int]]:
        """Return the positions of the series of each node; series of no node of Kepler's are left out.

        Where Kepler has one node and all that is left comes from one target, the two are taken for one machine.
        """
        positions: dict[str, list[int]] = {}
        unmatched: list[tuple[int, str]] = []
        for position, labels in enumerate(series):
            if labels.get(INSTANCE, "") in self.elsewhere and not labels.get(self.label):
                continue
            node = self.node_of(labels)
            if node is None:
                unmatched.append((position, labels.get(INSTANCE, "")))
            else:
                positions.setdefault(node, []).append(position)
        if len(self.names) == 1 and not positions and len({target for _, target in unmatched}) == 1:
            positions[next(iter(self.names))] = [position for position, _ in unmatched]
        return positions

    def selector(self, metric: str, chosen: Collection[str]) -> str:
        """Return a selector of one of Kepler's own metrics, for the chosen nodes or for all."""
        if not chosen:
            return metric
        targets = {target for target, node in self.by_instance.items() if node in chosen}
        by_target = self.label != INSTANCE and bool(targets & set(chosen))  # a node without a name goes by its target
        return _one_of(metric, INSTANCE if by_target else self.label, targets if by_target else chosen)

    def narrowed(self, metric: str, series: Sequence[Labels], chosen: Collection[str]) -> str:
        """Return a selector of another exporter's metric, for the targets of the chosen nodes or for all."""
        positions = {position for node, of_node in self.split(series).items() if node in chosen for position in of_node}
        return (
            _one_of(metric, INSTANCE, {series[position].get(INSTANCE, "") for position in positions})
            if chosen
            else metric
        )


def own_node(labels: Labels, label: str) -> str:
    """Return the node that a series of Kepler's names, else the target it was scraped from."""
    return labels.get(label) or labels.get(INSTANCE, "")


def _one_of(metric: str, label: str, values: Collection[str]) -> str:
    names = "|".join(re.escape(value) for value in sorted(values))
    quoted = names.replace("\\", "\\\\").replace('"', '\\"')
    return f'{metric}{{{label}=~"{quoted}"}}'


def _host(target: str) -> str:
    """Return the machine in `machine:port`, `[v6]:port` or `machine`."""
    return re.sub(r":\d+$", "", target).strip("[]")


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a mapping without the empty key and without keys of several values."""
    values_by_key: dict[str, set[str]] = {}
    for key, value in pairs:
        values_by_key.setdefault(key, set()).add(value)
    return {key: next(iter(values)) for key, values in values_by_key.items() if key and len(values) == 1}

"""Which node a series belongs to: Kepler's own say so; those of other exporters are matched to Kepler's nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Labels = Mapping[str, str]
INSTANCE = "instance"
# Labels by which scrape configurations name the node of a target; their value counts when it is a node of Kepler's.
_NODE_LABELS = ("node_name", "node", "nodename", "kubernetes_node", "exported_instance", "host", "hostname", INSTANCE)


@dataclass(frozen=True)
class Nodes:
    """The nodes that Kepler reports on, and where it is scraped for each."""

    label: str
    names: frozenset[str]
    by_instance: Mapping[str, str] = field(default_factory=dict)
    by_host: Mapping[str, str] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()  # targets that are none of these nodes: the hosts of VMs

    @classmethod
    def of_vms(cls, label: str, energy: Iterable[Labels]) -> Nodes:
        """The virtual machines of energy series, which are scraped on their hosts; `label` names them."""
        pairs = {(own_node(labels, label), labels.get(INSTANCE, "")) for labels in energy}
        names = frozenset(name for name, _ in pairs)
        hosts = _unambiguous((_host(name), name) for name in names)
        return cls(label, names, by_host=hosts, elsewhere=frozenset(place for _, place in pairs))

    @classmethod
    def of(cls, label: str, energy: Iterable[Labels]) -> Nodes:
        """The nodes of Kepler's energy series; `label` is the one by which its dialect names nodes."""
        pairs = {(own_node(labels, label), labels.get(INSTANCE, "")) for labels in energy}
        hosts = {(node, _host(place)) for node, place in pairs} | {(node, _host(node)) for node, _ in pairs}
        return cls(
            label,
            frozenset(node for node, _ in pairs),
            _unambiguous((place, node) for node, place in pairs),
            _unambiguous((host, node) for node, host in hosts),
        )

    def node_of(self, labels: Labels) -> str | None:
        """The node of a series: by Kepler's label, its target, another label that names a node, or its host."""
        own, place = labels.get(self.label, ""), labels.get(INSTANCE, "")
        if own in self.names and own:
            return own
        if place in self.by_instance:
            return self.by_instance[place]
        named = next((labels[name] for name in _NODE_LABELS if labels.get(name, "") in self.names - {""}), None)
        return named or self.by_host.get(_host(place))

    def split(self, many: Iterable[Labels]) -> dict[str, list[int]]:
        """Positions of the series of each node; what belongs to no node of Kepler's is left out.

        Where Kepler has one node and all that is left comes from one target, the two are taken for one machine.
        """
        found: dict[str, list[int]] = {}
        homeless: list[tuple[int, str]] = []
        for position, labels in enumerate(many):
            if labels.get(INSTANCE, "") in self.elsewhere and not labels.get(self.label):
                continue
            node = self.node_of(labels)
            if node is None:
                homeless.append((position, labels.get(INSTANCE, "")))
            else:
                found.setdefault(node, []).append(position)
        if len(self.names) == 1 and not found and len({place for _, place in homeless}) == 1:
            found[next(iter(self.names))] = [position for position, _ in homeless]
        return found

    def selector(self, metric: str, chosen: Collection[str]) -> str:
        """The series of one of Kepler's own metrics, of the chosen nodes or of all."""
        if not chosen:
            return metric
        places = {place for place, node in self.by_instance.items() if node in chosen}
        by_place = self.label != INSTANCE and bool(places & set(chosen))  # a node without a name goes by its target
        return _one_of(metric, INSTANCE if by_place else self.label, places if by_place else chosen)

    def narrowed(self, metric: str, many: Sequence[Labels], chosen: Collection[str]) -> str:
        """The series of another exporter's metric, of the targets that belong to the chosen nodes or of all."""
        mine = {position for node, own in self.split(many).items() if node in chosen for position in own}
        return _one_of(metric, INSTANCE, {many[position].get(INSTANCE, "") for position in mine}) if chosen else metric


def own_node(labels: Labels, label: str) -> str:
    """The node that a series of Kepler's names, else the target it was scraped from."""
    return labels.get(label) or labels.get(INSTANCE, "")


def _one_of(metric: str, label: str, values: Collection[str]) -> str:
    names = "|".join(re.escape(value) for value in sorted(values))
    quoted = names.replace("\\", "\\\\").replace('"', '\\"')
    return f'{metric}{{{label}=~"{quoted}"}}'


def _host(place: str) -> str:
    """The machine in `machine:port`, `[v6]:port` or `machine`."""
    return re.sub(r":\d+$", "", place).strip("[]")


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Key to value, without the empty key and without keys of several values."""
    found: dict[str, set[str]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return {key: next(iter(values)) for key, values in found.items() if key and len(values) == 1}

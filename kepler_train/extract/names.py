"""How containers are called: `container_id/pod_name/container_name/container_namespace`, whatever Kepler says where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kepler_train.catalog import Dialect
from kepler_train.samples.metrics import prefixed
from kepler_train.samples.parquet import MetricFile
from kepler_train.spec import RunSpec

# Labels of Kepler 0.10 and later: what joins a process to its container, and that to its pod.
_CONTAINER_ID, _POD_ID = "container_id", "pod_id"
_OF_POD = {"pod_name": "pod_name", "pod_namespace": "container_namespace"}


class Names:
    """The names of containers by their ids, from the labels of the metrics that say them.

    A container that is in no pod goes by its own name in place of the pod's.
    """

    def __init__(self, samples: Path, dialect: Dialect, spec: RunSpec) -> None:
        self._dialect = dialect
        self._containers: dict[str, Mapping[str, str]] = {}
        self._pods: dict[str, Mapping[str, str]] = {}
        if dialect.names:
            for into, key, metrics in (
                (self._containers, _CONTAINER_ID, dialect.names.container),
                (self._pods, _POD_ID, dialect.names.pod),
            ):
                for metric in metrics:
                    labels = MetricFile(samples, prefixed(metric, spec)).labels
                    into.update({one[key]: one for one in labels if one.get(key)})
        self._known: dict[tuple[str, ...], str] = {}

    def of(self, labels: Mapping[str, str]) -> str:
        """The name of the container that a series is of; processes outside containers are one container."""
        own = tuple(labels.get(label, "") for label in (*self._dialect.container_labels, _POD_ID))
        if own not in self._known:
            self._known[own] = self._name(labels)
        return self._known[own]

    def _name(self, labels: Mapping[str, str]) -> str:
        if self._dialect.names:
            labels = {**self._containers.get(labels.get(_CONTAINER_ID) or "", {}), **labels}
            pod = self._pods.get(labels.get(_POD_ID) or "", {})
            labels = {"pod_name": labels.get("container_name", "")} | labels
            labels |= {ours: pod[theirs] for theirs, ours in _OF_POD.items() if theirs in pod}
        parts = [labels.get(label, "") for label in self._dialect.container_labels]
        return "/".join(parts) if any(parts) else self._dialect.system_container

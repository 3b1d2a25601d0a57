"""Names of containers: `container_id/pod_name/container_name/container_namespace`, whatever labels Kepler has."""

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


class ContainerNames:
    """The names of containers by their ids, from the labels of the metrics that have them.

    A container that is in no pod goes by its own name in place of the pod's.
    """

    def __init__(self, samples: Path, dialect: Dialect, spec: RunSpec) -> None:
        self._dialect = dialect
        self._containers: dict[str, Mapping[str, str]] = {}
        self._pods: dict[str, Mapping[str, str]] = {}
        self._names: dict[tuple[str, ...], str] = {}
        if not dialect.names:
            return
        for labels_by_id, key, metrics in (
            (self._containers, _CONTAINER_ID, dialect.names.container),
            (self._pods, _POD_ID, dialect.names.pod),
        ):
            for metric in metrics:
                series = MetricFile(samples, prefixed(metric, spec)).labels
                labels_by_id.update({labels[key]: labels for labels in series if labels.get(key)})

    def container_of(self, labels: Mapping[str, str]) -> str:
        """Return the name of the container of a series; processes outside containers are one container."""
        key = tuple(labels.get(label, "") for label in (*self._dialect.container_labels, _POD_ID))
        if key not in self._names:
            self._names[key] = self._name(labels)
        return self._names[key]

    def _name(self, labels: Mapping[str, str]) -> str:
        if self._dialect.names:
            labels = {**self._containers.get(labels.get(_CONTAINER_ID) or "", {}), **labels}
            pod = self._pods.get(labels.get(_POD_ID) or "", {})
            labels = {"pod_name": labels.get("container_name", "")} | labels
            labels |= {ours: pod[theirs] for theirs, ours in _OF_POD.items() if theirs in pod}
        parts = [labels.get(label, "") for label in self._dialect.container_labels]
        return "/".join(parts) if any(parts) else self._dialect.system_container

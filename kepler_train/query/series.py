"""The series of a window: which ones the server has, and which of them a run downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kepler_train.catalog import catalog
from kepler_train.errors import DataError
from kepler_train.events import warn
from kepler_train.query.chunks import SHORTEST_CHUNK, MetricDownload
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.server_errors import TooMuchAtOnce, TooSlow
from kepler_train.samples.labels import METRIC_NAME, Labels
from kepler_train.samples.metrics import RequiredMetrics, is_measured_by
from kepler_train.samples.nodes import Nodes
from kepler_train.samples.parquet import label_table, schema, writer

_NOT_IN_NAMES = (METRIC_NAME, "zone", "state")


@dataclass(frozen=True)
class SeriesSearch:
    """A search for the required series of the requested nodes (all nodes where none is named) in a window (Unix s).

    Unless the machines must be `metered`, those without energy are taken too.
    """

    server: Prometheus
    required: RequiredMetrics
    requested_nodes: Sequence[str]
    start: float
    end: float
    metered: bool
    pool: ThreadPoolExecutor

    def downloads(self, step: int) -> tuple[Nodes, list[MetricDownload]]:
        """Return the nodes, and the required metrics that have series of the requested ones; `step` is in ms."""
        required = self.required
        listed = self._by_metric(required.energy if self.metered else required.metrics)
        nodes = (
            required.nodes(labels for series in listed.values() for labels in series)
            if self.metered
            else required.every_node(listed.__getitem__, others=True)
        )
        if self.metered:
            self._check_sources(listed)
        absent = [node for node in self.requested_nodes if node not in nodes.names]
        if nodes.names and absent:
            warn(f"query: Prometheus has no {self._essential[1]} of {', '.join(absent)} in the window.")

        def download(metric: str) -> MetricDownload:
            selector = nodes.selector(metric, self.requested_nodes)
            if metric in required.foreign or (required.vm_label and metric in required.features):
                series = listed[metric] if metric in listed else self._labels(metric)
                selector = nodes.narrowed(metric, series, self.requested_nodes)
            series = listed[metric] if metric in listed and not self.requested_nodes else self._labels(selector)
            names = {name for labels in series for name in labels} - {METRIC_NAME}
            return MetricDownload(metric, selector, schema(metric, names), len(series), step)

        downloads = [download for download in self.pool.map(download, required.metrics) if download.series]
        self.check_essential({download.metric for download in downloads})
        return nodes, downloads

    def check_essential(self, metrics: set[str]) -> None:
        """Refuse metrics without any energy or, where machines need no meter, without any feature."""
        essential, kind = self._essential
        if not metrics & set(essential):
            nodes = f" of the nodes {', '.join(self.requested_nodes)}" if self.requested_nodes else ""
            raise DataError(
                f"Prometheus at {self.server.url} has no {kind}{nodes} in the window: {', '.join(essential)}."
            )

    def _check_sources(self, energy: Mapping[str, list[Labels]]) -> None:
        """Refuse energy that is of none of the requested sources; warn of those without energy where some were chosen.

        All of them are what is asked for when nobody chose: few machines have more than one.
        """
        dialect = catalog().dialect(self.required.dialect)
        requested = dict.fromkeys(meter.source for meter in self.required.meters)
        measured = {
            source
            for source, component, metric in self.required.meters
            if any(is_measured_by(labels, source, component, dialect) for labels in energy[metric])
        }
        absent = [source for source in requested if source not in measured]
        if not absent or not any(energy.values()) or set(requested) >= set(catalog().energy_sources):
            return
        label = dialect.energy.source_label or ""
        others = sorted({labels[label] for series in energy.values() for labels in series if label in labels})
        sentence = f"Prometheus at {self.server.url} has no energy of {', '.join(absent)} in the window"
        if not measured:
            only = f", only of {', '.join(others)}" if others else ""
            raise DataError(f"{sentence}{only}: choose another source, or check the exporter.")
        warn(f"query: {sentence}.")

    def write_names(self, nodes: Nodes, downloaded: set[str], out: Path) -> None:
        """Write the labels that name containers and pods: of each list of metrics, those of the first with series."""
        for metrics in self.required.names:
            for metric in () if downloaded & set(metrics) else metrics:
                series = self._labels(nodes.selector(metric, self.requested_nodes))
                # A container has a series for every zone and state, which its name has nothing to do with.
                names = {tuple(sorted((k, v) for k, v in one.items() if k not in _NOT_IN_NAMES)) for one in series}
                if names:
                    columns = schema(metric, {label for labels in names for label, _ in labels})
                    with writer(out, columns) as file:
                        file.write_table(label_table(map(dict, sorted(names)), columns))
                    break

    @property
    def _essential(self) -> tuple[list[str], str]:
        return (self.required.energy, "energy counters") if self.metered else (self.required.features, "features")

    def _by_metric(self, metrics: list[str]) -> dict[str, list[Labels]]:
        return dict(zip(metrics, self.pool.map(self._labels, metrics), strict=True))

    def _labels(self, selector: str) -> list[Labels]:
        return _list_series(self.server, selector, self.start, self.end)


def _list_series(server: Prometheus, selector: str, start: float, end: float) -> list[Labels]:
    """Return the labels of the series of a window; where they are too many for one answer, those of its halves."""
    try:
        return server.series(selector, start, end)
    except (TooMuchAtOnce, TooSlow):
        if end - start <= SHORTEST_CHUNK / 1000:
            raise
    middle = round((start + end) / 2, 3)
    both = [*_list_series(server, selector, start, middle), *_list_series(server, selector, middle, end)]
    return [dict(labels) for labels in {tuple(sorted(labels.items())) for labels in both}]

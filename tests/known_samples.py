"""What a server holds and what a query wrote, in one form that can be compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from kepler_train.samples.parquet import metrics_in, read_series
from kepler_train.simulate.store import SampleStore

START = 1_794_614_400  # 2026-11-14T00:00:00Z
HOURS = 8
END = START + HOURS * 3600

# By metric and labels: times (ms) and values.
Samples = dict[str, dict[frozenset[tuple[str, str]], tuple[list[int], list[float]]]]


def held(store: SampleStore, metrics: list[str], start: float = START, end: float = END) -> Samples:
    """What the server holds of some metrics in [start, end]."""
    found: Samples = {}
    for series in store.series:
        name = series.labels["__name__"]
        inside = (series.times >= round(start * 1000)) & (series.times <= round(end * 1000))
        if name in metrics and inside.any():
            labels = frozenset((k, v) for k, v in series.labels.items() if k != "__name__")
            found.setdefault(name, {})[labels] = series.times[inside].tolist(), series.values[inside].tolist()
    return found


def collected(folder: Path) -> Samples:
    """What a query wrote, straight from the rows of its files: a sample that is there twice shows twice."""
    found: Samples = {}
    for metric in metrics_in(folder):
        of_metric = found.setdefault(metric, {})
        for row in pq.read_table(folder / f"{metric}.parquet").to_pylist():
            labels = frozenset(
                (name.removeprefix("label."), value)
                for name, value in row.items()
                if name.startswith("label.") and value is not None
            )
            times, values = of_metric.setdefault(labels, ([], []))
            times += [round(time.timestamp() * 1000) for time in row["time"]]
            values += row["value"]
    return _with_samples(found)


def as_read(folder: Path) -> Samples:
    """What `read_series` answers."""
    return _with_samples(
        {
            metric: {
                frozenset(one.labels.items()): ((one.times * 1000).round().astype(int).tolist(), one.values.tolist())
                for one in read_series(folder, metric)
            }
            for metric in metrics_in(folder)
        }
    )


def _with_samples(found: Samples) -> Samples:
    """Without metrics of which a query keeps the labels only, for the names of containers."""
    return {metric: series for metric, series in found.items() if any(times for times, _ in series.values())}


def resampled(store: SampleStore, metrics: list[str], step: float, start: float = START, end: float = END) -> Samples:
    """What Prometheus answers by definition at the multiples of a step (s): the last sample of the 5 minutes before."""
    found: Samples = {}
    ms = round(step * 1000)
    points = np.arange(-(-round(start * 1000) // ms) * ms, round(end * 1000) + 1, ms)
    for series in store.series:
        if series.labels["__name__"] not in metrics:
            continue
        last = np.searchsorted(series.times, points, side="right") - 1
        shown = (last >= 0) & (points - series.times[last] <= 300_000)  # Prometheus 2; 3 leaves out the edge
        if shown.any():
            labels = frozenset((k, v) for k, v in series.labels.items() if k != "__name__")
            values = series.values[last[shown]].tolist()
            found.setdefault(series.labels["__name__"], {})[labels] = points[shown].tolist(), values
    return found

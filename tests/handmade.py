"""Series whose every sample a person can work out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kepler_train.samples.decoding import DecodedSeries
from kepler_train.samples.parquet import Series, schema, table, writer

T0 = 1_794_614_400.0  # 2026-11-14T00:00:00Z


def series(values: Sequence[float], every: float = 15.0, start: float = T0, **labels: str) -> Series:
    """Values scraped at equal distances (s)."""
    return at(start + every * np.arange(len(values)), values, **labels)


def at(times: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray, **labels: str) -> Series:
    return Series(labels, np.asarray(times, dtype=float), np.asarray(values, dtype=float))


def meter(watts: float, scrapes: np.ndarray, refresh: float = 0.0, phase: float = 0.0) -> np.ndarray:
    """A counter (J) of constant power, as an exporter shows it that refreshes every `refresh` seconds."""
    seen = scrapes if not refresh else np.floor((scrapes - T0 - phase) / refresh) * refresh + phase + T0
    return np.asarray(watts * (seen - T0))


def written(folder: Path, metrics: dict[str, list[Series]]) -> Path:
    """A folder of samples as a query leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    for metric, many in metrics.items():
        columns = schema(metric, {name for one in many for name in one.labels})
        rows = [
            DecodedSeries(one.labels, np.rint(one.times * 1000).astype(np.int64), one.values, one.doubled)
            for one in many
        ]
        with writer(folder, columns) as file:
            file.write_table(table(rows, columns))
    return folder

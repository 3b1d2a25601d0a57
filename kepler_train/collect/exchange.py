"""`kepler_query.json`: samples as other tools of Kepler write and read them.

`{metric: [{"metric": {label: value}, "values": [[Unix time, "value"], …]}, …]}`, the answers of Prometheus by metric.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from kepler_train.collect.samples import Series, metrics_in, read_series, schema, table
from kepler_train.errors import DataError, UserError

# What a metric may be called, and so what a file may be called: never a path.
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,200}")
_NAME = "__name__"


def import_json(file: Path, out: Path) -> None:
    """Write the samples of a `kepler_query.json` as a Parquet file per metric."""
    content = _read(file)
    for metric, series in content.items():
        if not _METRIC.fullmatch(metric):
            raise UserError(f"{file}: {metric!r} is not the name of a metric.")
        if not isinstance(series, list):
            raise UserError(f"{file}: {metric} is not a list of series.")
        labels = {name for one in series for name in _labels(one, metric, file)} - {_NAME}
        try:
            rows = table(series, schema(metric, labels))
        except DataError as error:
            raise DataError(f"{file}: {error}") from None
        if len(rows):
            pq.write_table(rows, out / f"{metric}.parquet", compression="zstd")
    if not metrics_in(out):
        raise DataError(f"{file} has no samples.")


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UserError(f"{file} is cut short or not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise UserError(f"{file} is not a query: a list of series by metric is expected.")
    return content


def _labels(one: Any, metric: str, file: Path) -> dict[str, str]:
    labels = one.get("metric") if isinstance(one, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise UserError(f"{file}: a series of {metric} has no labels.")
    return labels


def export_json(samples: Path, file: Path) -> None:
    """Write a folder of samples as `kepler_query.json`, a metric at a time."""
    with file.open("w", encoding="utf-8") as out:
        out.write("{")
        for number, metric in enumerate(metrics_in(samples)):
            series = [_as_answer(one, metric) for one in read_series(samples, metric)]
            out.write(f"{',' if number else ''}\n{json.dumps(metric)}: {json.dumps(series)}")
        out.write("\n}\n")


def _as_answer(series: Series, metric: str) -> dict[str, Any]:
    times = [int(time) if time == int(time) else time for time in series.times.tolist()]
    values = [_text(value) for value in series.values.tolist()]
    return {"metric": {_NAME: metric, **series.labels}, "values": list(zip(times, values, strict=True))}


def _text(value: float) -> str:
    """A number as Prometheus prints it: the shortest text that reads back as the same number."""
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    return repr(value).removesuffix(".0")

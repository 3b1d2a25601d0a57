"""`kepler_query.json`: samples as other tools of Kepler write and read them.

`{metric: [{"metric": {label: value}, "values": [[Unix time, "value"], …]}, …]}`, the answers of Prometheus by metric.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from kepler_train.catalog import catalog
from kepler_train.catalog.model import METRIC_PATTERN
from kepler_train.errors import DataError, KeplerTrainError, UserError
from kepler_train.samples.kepler_query_reader import KeplerQueryReader
from kepler_train.samples.labels import METRIC_NAME
from kepler_train.samples.parquet import Series, label_table, metrics_in, schema, series_in_parts, table, writer
from kepler_train.scratch import unnamed_file
from kepler_train.strict_json import shown

_GZIP = b"\x1f\x8b"
_NO_NUMBERS = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
_LEAST_PLAIN, _LEAST_LARGE = 1e-6, 1e21  # what lies outside is written with an exponent


def import_json(file: Path, out: Path) -> None:
    """Write the samples of a `kepler_query.json`, plain or packed by gzip, as a Parquet file per metric."""
    try:
        with _opened(file) as source:
            _import(KeplerQueryReader(source), out)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{file} is cut short or not packed by gzip: {error}.") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is cut short or not JSON: {error}.") from None
    except KeplerTrainError as error:
        raise type(error)(f"{file}: {error}") from None
    if not metrics_in(out):
        raise DataError(f"{file} has no samples.")


def _import(content: KeplerQueryReader, out: Path) -> None:
    for metric, series in content.metrics():
        if not re.fullmatch(METRIC_PATTERN, metric):  # it names a file: never a path
            raise UserError(f"{shown(metric)} is not the name of a metric.")
        columns = schema(metric, {name for labels, _ in series for name in labels} - {METRIC_NAME})
        parts = (table(part, columns) for part in content.decoded(series))
        filled = (rows for rows in parts if len(rows))
        first = next(filled, None)
        if first is None and _names_containers(metric):
            first = label_table([labels for labels, _ in series], columns)
        if first is not None and len(first):
            with writer(out, columns) as parquet:
                parquet.write_table(first)
                for rows in filled:
                    parquet.write_table(rows)


def _names_containers(metric: str) -> bool:
    """Return whether the labels of a metric are of use without samples, under any prefix of metrics."""
    lists = [dialect.names for dialect in catalog().dialects.values() if dialect.names]
    endings = [name.removeprefix("kepler") for names in lists for name in (*names.container, *names.pod)]
    return metric.endswith(tuple(endings))


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    with file.open("rb") as source, unnamed_file() as unpacked:
        if source.read(len(_GZIP)) != _GZIP:
            yield source
            return
        source.seek(0)
        with gzip.open(source) as packed:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        yield unpacked


def export_json(samples: Path, file: Path) -> None:
    """Write a folder of samples as `kepler_query.json`, a part of a metric at a time."""
    with file.open("w", encoding="utf-8") as out:
        out.write("{")
        for number, metric in enumerate(metrics_in(samples)):
            out.write(f"{',' if number else ''}\n{json.dumps(metric)}: [")
            for place, series in enumerate(series_in_parts(samples, metric)):
                out.write(", " if place else "")
                _write_series(out, metric, series)
            out.write("]")
        out.write("\n}\n")


def _write_series(out: TextIO, metric: str, series: Series) -> None:
    out.write(f'{{"metric": {json.dumps({METRIC_NAME: metric, **series.labels})}, "values": [')
    times, values = map(_text, series.times.tolist()), map(_text, series.values.tolist())
    out.write(", ".join([f'[{time}, "{value}"]' for time, value in zip(times, values, strict=True)]))
    out.write("]}")


def _text(number: float) -> str:
    """Return a number as Prometheus prints it: the shortest text that reads back as the same number."""
    text = repr(number)
    if text.endswith(".0"):
        return text[:-2]
    if "e" in text and _LEAST_PLAIN <= abs(number) < _LEAST_LARGE:
        return np.format_float_positional(number, trim="-")
    return _NO_NUMBERS.get(text, text)

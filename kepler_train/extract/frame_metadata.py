"""Metadata of a table of rows: the unit of every column, and where the rows come from.

In Parquet, units are metadata of columns (`unit`), and the rest is JSON in the metadata of the file (`kepler_train`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train import __version__, strict_json
from kepler_train.catalog import catalog
from kepler_train.columns import CONTAINER, CONTAINER_ID, NODE, POWER, TIME, TIMESTAMP, WORKLOAD
from kepler_train.errors import UserError
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

_METADATA, _UNIT = b"kepler_train", b"unit"
_COUNTED = {"_ms": "ms", "_us": "us", "_seconds": "s", "_bytes": "B", "_hertz": "Hz", "_joules": "J"}
_MADE_BY = ("model", "isolator", "extractor")
_LABEL_UNITS = {NODE: "", CONTAINER: "", CONTAINER_ID: "", WORKLOAD: "", TIME: "UTC", TIMESTAMP: "s"}


def unit_of(column: str) -> str:
    """Return the unit of a column: W for power, 1/s and the like for counters, that of the gauge, or empty for text."""
    if column in _LABEL_UNITS:
        return _LABEL_UNITS[column]
    if column.endswith(POWER):
        return "W"
    quantity = column.removesuffix("_total")
    counted = next((unit for ending, unit in _COUNTED.items() if quantity.endswith(ending)), "1")
    return f"{counted}/s" if counts(column) else counted


def counts(column: str) -> bool:
    """Return whether a column is the rate of a counter, which never falls."""
    if node_features := catalog().of_node(column):
        return all(feature.kind == "counter" for feature in node_features)
    return any(column in names for names in catalog().feature_sets.values()) or catalog().is_counter(column)


def extraction_metadata(spec: RunSpec, schedule: Schedule, dialect: str, seconds: float) -> dict[str, Any]:
    """Return where rows come from; `seconds` is the usual length of their windows."""
    return {
        "version": __version__,
        "extractor": spec.extractor,
        "resolution": spec.resolution,
        "window_seconds": seconds,
        "start": f"{spec.start:%Y-%m-%dT%H:%M:%SZ}" if spec.start else "",
        "end": f"{spec.end:%Y-%m-%dT%H:%M:%SZ}" if spec.end else "",
        "dialect": dialect,
        "energy_sources": spec.energy_sources,
        "feature_groups": spec.feature_groups,
        "machine_id": spec.machine_id or schedule.machine_id,
        "machine": schedule.machine.model_dump(exclude_none=True) if schedule.machine else {},
    }


def with_metadata(table: pa.Table, metadata: Mapping[str, Any]) -> pa.Table:
    """Return a table with the units of its columns and the metadata of its rows."""
    fields = [field.with_metadata({_UNIT: unit_of(field.name)}) for field in table.schema]
    file_metadata = dict(table.schema.metadata or {}) | {_METADATA: json.dumps(dict(metadata))}
    return table.cast(pa.schema(fields, metadata=file_metadata))


def made_by(metadata: Mapping[str, Any]) -> str:
    """Return what made a table: `model`, `isolator` or `extractor`; empty where none did."""
    return next((name for name in _MADE_BY if name in metadata), "")


def read_frame_metadata(file: Path) -> dict[str, Any]:
    """Return the metadata of the rows of a Parquet file; empty where another program wrote it."""
    try:
        text = (pq.read_schema(file).metadata or {}).get(_METADATA)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None
    metadata = strict_json.read(text, f"The metadata of {file}") if text else {}
    if not isinstance(metadata, dict):
        raise UserError(f"The metadata of {file} are {strict_json.shown(metadata)}, not an object.")
    for name in _MADE_BY:
        if (value := metadata.get(name)) and (problem := strict_json.name_problem(value)):
            raise UserError(f"The metadata of {file}: {name}: {problem}.")
    seconds = metadata.get("window_seconds", 0.0)
    if not isinstance(seconds, int | float):
        raise UserError(f"The metadata of {file}: window_seconds: {strict_json.shown(seconds)} is no number.")
    return metadata


def unreadable(file: Path, error: Exception) -> UserError:
    """Return the error for a file that is not what its suffix says."""
    kind = "CSV" if file.suffix == ".csv" else "Parquet"
    reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
    return UserError(f"{file} is cut short or not {kind}: {reason}.")

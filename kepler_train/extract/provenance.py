"""What a table of rows says of itself: the unit of every column, and where the rows come from.

In Parquet, units are metadata of columns (`unit`), and the rest is JSON in the metadata of the file (`kepler_train`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train import __version__
from kepler_train.catalog import catalog
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec

_ABOUT, _UNIT = b"kepler_train", b"unit"
# What a name ends in says what is counted.
_ENDINGS = {"_ms": "ms", "_us": "us", "_seconds": "s", "_bytes": "B", "_hertz": "Hz", "_joules": "J"}
_WORDS = ("node", "container", "id", "workload")


def unit_of(column: str) -> str:
    """The unit of a column: W for power; what a counter counts per second; what a gauge shows; empty for words."""
    if column in _WORDS:
        return ""
    if column in ("time", "timestamp"):
        return "UTC" if column == "time" else "s"
    if column.endswith("_power"):
        return "W"
    own = column.removesuffix("_total")
    counted = next((unit for ending, unit in _ENDINGS.items() if own.endswith(ending)), "1")
    return f"{counted}/s" if counts(column) else counted


def counts(column: str) -> bool:
    """Whether a column is the rate of a counter, which never falls."""
    known = catalog().of_node(column)
    if known:
        return all(one.kind == "counter" for one in known)
    own = any(column in features for features in catalog().feature_sets.values())
    return own or catalog().is_counter(column)


def about_rows(spec: RunSpec, schedule: Schedule, dialect: str, seconds: float) -> dict[str, Any]:
    """Where rows come from; `seconds` is the usual length of their windows."""
    machine = schedule.machine.model_dump(exclude_none=True) if schedule.machine else {}
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
        "machine": machine,
    }


def described(table: pa.Table, about: Mapping[str, Any]) -> pa.Table:
    """A table that carries the units of its columns and what is known of its rows."""
    fields = [field.with_metadata({_UNIT: unit_of(field.name)}) for field in table.schema]
    metadata = dict(table.schema.metadata or {}) | {_ABOUT: json.dumps(dict(about))}
    return table.cast(pa.schema(fields, metadata=metadata))


def kind_of(about: Mapping[str, Any]) -> str:
    """What made a table, by what is known of its rows: a model, an isolator or an extractor; empty where none did."""
    return next((name for name in ("model", "isolator", "extractor") if name in about), "")


def read_about(file: Path) -> dict[str, Any]:
    """What a Parquet file says of its rows; nothing where it was written by something else."""
    text = (pq.read_schema(file).metadata or {}).get(_ABOUT)
    found: dict[str, Any] = json.loads(text) if text else {}
    return found

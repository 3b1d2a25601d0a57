"""Changes of Parquet that stay Parquet: other values, types, names, rows and metadata; or of its bytes."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.json_mutations import mutate_json
from fuzz.mutations import mutate_bytes

_NAMES = [
    "",
    "time",
    "node",
    "workload",
    "a\0b",
    "a\nb",
    "n" * 5000,
    "../escape",
    "é",
    "timestamp",
    "package_power",
    "__name__",
]
_TEXTS = ["", "a", "nan", "a\0b", "t" * 5000, "../../escape", "é\u202e", "\x1b[2J", "a,b\nc"]
_NUMBERS = [0, 1, -1, 2**31, 2**62, -(2**62), 253_402_300_800_000, -62_135_596_800_001, 1_794_614_400_000]
_FLOATS = [0.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 5e-324, 1e18]
_TYPES = [pa.string(), pa.float32(), pa.float64(), pa.int64(), pa.int8(), pa.bool_(), pa.large_string(), pa.binary()]
_MORE_TYPES = [
    pa.timestamp("ns", "UTC"),
    pa.timestamp("s"),
    pa.date32(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.null(),
]


def mutate_parquet(content: bytes, random: Random) -> bytes:
    """Return a changed Parquet file."""
    if random.random() < 0.2:
        return mutate_bytes(content, random)
    table = pq.read_table(io.BytesIO(content))
    for _ in range(min(1 + int(random.expovariate(1.2)), 3)):
        try:
            table = _changed(table, random)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError, OverflowError, KeyError):
            continue  # not every change goes with every type
    out = io.BytesIO()
    try:
        pq.write_table(table, out)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # a type that Parquet has no form for
        return mutate_bytes(content, random)
    return out.getvalue()


def _changed(table: pa.Table, random: Random) -> pa.Table:
    if not table.num_columns:
        return table
    at = random.randrange(table.num_columns)
    field, column = table.field(at), table.column(at)
    match random.randrange(13):
        case 0:
            return table.remove_column(at)
        case 1:
            names = list(table.column_names)
            names[at] = random.choice([*_NAMES, *names])
            return table.rename_columns(names)
        case 2:
            return table.set_column(at, field.name, column.cast(random.choice([*_TYPES, *_MORE_TYPES]), safe=False))
        case 3:
            return table.append_column(random.choice([*_NAMES, field.name]), column)
        case 4:
            return pa.concat_tables([table] * random.choice((2, 3)))
        case 5:
            return table.slice(0, random.choice((0, 1, table.num_rows // 2)))
        case 6:
            return table.take(random.sample(range(table.num_rows), table.num_rows))
        case 7:
            return table.replace_schema_metadata(_metadata(table.schema.metadata or {}, random))
        case 8:
            nulls = pa.nulls(table.num_rows, field.type)
            return table.set_column(at, field.name, nulls)
        case 9:
            odd = random.choice((pa.array([[1]] * table.num_rows), pa.array([{"a": 1}] * table.num_rows)))
            return table.set_column(at, field.name, odd)
        case _:
            values = column.to_pylist()
            for _ in range(random.choice((1, 1, 3, len(values)))):
                if values:
                    place = random.randrange(len(values))
                    values[place] = _other(values[place], random)
            return table.set_column(at, field.name, pa.array(values, field.type))


def _other(value: Any, random: Random) -> Any:
    """Return another value of the same type."""
    if isinstance(value, list):
        items = [_other(item, random) if random.random() < 2 / (len(value) or 1) else item for item in value]
        return random.choice((items, items, items, items[:-1], items + items, [], None, items[::-1]))
    if isinstance(value, str):
        return random.choice([*_TEXTS, None])
    if isinstance(value, float):
        return random.choice([*_FLOATS, -value, value * 1e6, None])
    if isinstance(value, int):
        return random.choice([*_NUMBERS, value + 1, value - 1, -value, None])
    return None


def _metadata(metadata: dict[bytes, bytes], random: Random) -> dict[bytes, bytes] | None:
    """Return other metadata: pandas keeps there what it makes of columns, and we what a frame is of."""
    pandas = metadata.get(b"pandas") or json.dumps({"index_columns": [], "columns": [], "pandas_version": "2"}).encode()
    key = random.choice([b"pandas", *metadata])
    return random.choice((None, metadata | {key: mutate_json(metadata.get(key, pandas), random)}, {key: b"\xff{"}))

"""A Parquet file of samples that anybody may have written: checked before its columns are read as arrays.

Samples are read from memory as they lie there, so a column of another type would be read as nonsense. What is claimed
to be larger than any chunk of a query is refused before it takes memory: few bytes can stand for any number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kepler_train.errors import UserError
from kepler_train.samples.arrow import as_numpy
from kepler_train.samples.decoding import EARLIEST, LATEST
from kepler_train.samples.labels import LABEL_COLUMN

TIME, VALUE, DOUBLED = "time", "value", "doubled"
# Rows of a file, and samples of a row group: a query writes groups of at most some millions, whatever it asks for.
MOST_ROWS = MOST_SAMPLES = 1 << 26
_LABEL_TYPES = (pa.string(), pa.dictionary(pa.int32(), pa.string()))


@contextmanager
def opened(file: Path) -> Iterator[pq.ParquetFile]:
    """Yield a file of samples; what cannot be read, now or later, is one sentence."""
    try:
        with pq.ParquetFile(file) as source:
            _check(source, file)
            yield source
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _no_samples(file, str(error).partition("\n")[0].rstrip(".")) from None


def read_group(source: pq.ParquetFile, group: int, file: Path, columns: list[str]) -> pa.Table:
    """Return columns of a row group, `time` among them; threads would each keep the memory of what they read."""
    content = source.read_row_group(group, columns, use_threads=False)
    times = content.column(TIME).combine_chunks()
    if any(content.column(name).null_count for name in columns) or times.values.null_count:
        raise _no_samples(file, "some of its times or values are missing")
    if VALUE in columns:
        values = content.column(VALUE).combine_chunks()
        if values.values.null_count or not values.value_lengths().equals(times.value_lengths()):
            raise _no_samples(file, "its rows do not have a value for each time")
    stamps = as_numpy(times.flatten(), np.int64)
    if len(stamps) and not (stamps.min() >= 1000 * EARLIEST and stamps.max() <= 1000 * LATEST):
        raise _no_samples(file, "a time is not within the years 1 to 9999")
    return content


def samples_in(group: pq.RowGroupMetaData) -> int:
    """Return how many samples a row group has, by what the file says of itself."""
    columns = map(group.column, range(group.num_columns))
    return sum(column.num_values for column in columns if column.path_in_schema.startswith(f"{VALUE}."))


def is_label(name: str) -> bool:
    """Return whether a column holds a label."""
    return name.startswith(LABEL_COLUMN)


def _check(source: pq.ParquetFile, file: Path) -> None:
    columns = source.schema_arrow
    repeated = [name for name, count in Counter(columns.names).items() if count > 1]
    if repeated:
        raise _no_samples(file, f"it has several columns {repeated[0]}")
    if not {TIME, VALUE} <= set(columns.names):
        raise _no_samples(file, f"it has no columns {TIME} and {VALUE}")
    for field in columns:
        if not _is_expected(field):
            raise _no_samples(file, f"its column {field.name} is of type {field.type}")
    groups = map(source.metadata.row_group, range(source.num_row_groups))
    if source.metadata.num_rows > MOST_ROWS or any(samples_in(group) > MOST_SAMPLES for group in groups):
        raise _no_samples(file, f"it claims to have more than {MOST_SAMPLES:,} samples in one chunk of a query")


def _is_expected(field: pa.Field) -> bool:
    kind = field.type
    if field.name == TIME:
        return bool(pa.types.is_list(kind) and pa.types.is_timestamp(kind.value_type) and kind.value_type.unit == "ms")
    if field.name == VALUE:
        return bool(pa.types.is_list(kind) and pa.types.is_float64(kind.value_type))
    if field.name == DOUBLED:
        return bool(pa.types.is_int64(kind))
    return not is_label(field.name) or kind in _LABEL_TYPES


def _no_samples(file: Path, reason: str) -> UserError:
    return UserError(f"{file} is not a Parquet file of samples: {reason}.")

"""Tables of the models in the folder of a pipeline: `<source>_<output type>_model_metadata.csv`, the best first.

Lists and objects are written as pandas writes them, since that is how other tools read these tables.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kepler_train.errors import UserError
from kepler_train.evaluate.protocols import Protocol
from kepler_train.export.leaderboard import write_leaderboard
from kepler_train.model_key import table_name
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA, read_json
from kepler_train.models.metadata import ModelMetadata

TableRow = dict[str, Any]
_MODELS = f"*/*/*/*/{METADATA}"
_END = "_model_metadata.csv"
# Columns before and after those of the errors of components.
_FIRST = ("model_name", "model_class", "model_file", "features", "fe_files", "output_type", "mae", "mape")
_LAST = ("trainer", "node_type", "feature_group", "machine_spec")


def own_models(home: Path) -> dict[Path, ModelMetadata]:
    """Return the folders of models of a pipeline with their metadata; those that other tools wrote are left out."""
    folders = [file.parent for file in sorted(home.glob(_MODELS))]
    return {folder: read_metadata(folder) for folder in folders if "schema_version" in read_json(folder / METADATA)}


def write_model_tables(home: Path, others: Mapping[str, Iterable[TableRow]] | None = None) -> None:
    """Write tables and leaderboard of all models whose folders are below `home`, with rows of other models by table."""
    tables: dict[str, list[TableRow]] = {}
    models = own_models(home)
    for folder, metadata in models.items():
        source, output_type, *_ = folder.relative_to(home).parts
        tables.setdefault(table_name(source, output_type), []).append(_row(metadata))
    for name, rows in (others or {}).items():
        tables.setdefault(name, []).extend(rows)
    for name, rows in tables.items():
        if rows:
            _write(home / f"{name}{_END}", sorted(rows, key=_error))
    write_leaderboard(home, models)


def tables_in(home: Path) -> Iterator[tuple[str, list[TableRow]]]:
    """Yield `<source>_<output type>` and the rows of each table in the folder of a pipeline, of whichever tool.

    Refuse what is no table.
    """
    for file in sorted(home.glob(f"*{_END}")):
        try:
            rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(), strict=True))
        except (ValueError, csv.Error) as error:
            raise UserError(f"{file} is not a table of models: {error}.") from None
        if any(not row.get("model_name") or None in row for row in rows):
            raise UserError(f"{file} is not a table of models: a row has no model_name, or more cells than columns.")
        yield file.name.removesuffix(_END), [{name: value for name, value in row.items() if name} for row in rows]


def _row(metadata: ModelMetadata) -> TableRow:
    """Return what other tools read of a model, with the errors (W, %) of its worst component and of each."""
    content = metadata.model_dump(include={*_FIRST, *_LAST})
    blocked = metadata.figures.get(Protocol.BLOCKED, {})
    errors = {f"{name}_{error}": getattr(own, error) for error in ("mae", "mape") for name, own in blocked.items()}
    return {name: content[name] for name in _FIRST} | errors | {name: content[name] for name in _LAST}


def _error(row: TableRow) -> float:
    """Return the mean absolute error (W) of a row; rows without one come last."""
    try:
        error = float(row.get("mae") or math.inf)
    except ValueError:
        return math.inf
    return error if math.isfinite(error) else math.inf


def _write(file: Path, rows: list[TableRow]) -> None:
    """Write a table whose columns are those of all rows, those of our own models in their order."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    columns = [name for name in columns if name not in _LAST] + [name for name in _LAST if name in columns]
    with file.open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, columns)
        writer.writeheader()
        writer.writerows(rows)

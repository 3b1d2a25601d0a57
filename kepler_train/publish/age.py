"""Does a model age? The error of the version of each window on the rows of every other, earlier and later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.columns import TIME
from kepler_train.errors import KeplerTrainError, TryAgain, UserError
from kepler_train.evaluate.window_rows import WindowRows, rows_file
from kepler_train.events import progress, warn
from kepler_train.publish.champion import fetch_best
from kepler_train.publish.operations import versions_at
from kepler_train.publish.target import Target
from kepler_train.scratch import ScratchFolder
from kepler_train.train.previous import Previous, read_previous


@dataclass(frozen=True)
class Ageing:
    """Mean absolute errors (W) by `<source>/<output type>/<component>`: [version of window i, rows of window j].

    On its own window a version is judged by rows that were held out in blocks of time. NaN where there is no figure:
    a version without these rows or models, or whose window holds all rows of the other.
    """

    versions: list[str]
    errors: Mapping[str, Floats]


def ageing(target: Target, pipeline: str, last: int, node_type: int) -> Ageing:
    """Return the errors of the last versions of a pipeline, the oldest window first, on each other's rows."""
    records = versions_at(target, pipeline).versions[-last:]
    names = [record.version for record in records]
    kinds = sorted({tuple(kind.split("/", 1)) for record in records for kind in record.errors})
    errors: dict[str, Floats] = {}
    with ScratchFolder() as folder, progress("models age", len(kinds) * len(names), "versions") as shown:
        for source, output_type in kinds:
            tables = rows_file(source, output_type, node_type)
            windows = [_rows(target, f"{pipeline}/{name}/{tables}", folder) for name in names]
            for i, name in enumerate(names):
                model = _model(target, f"{pipeline}/{name}", source, output_type, node_type, folder / name)
                for j, rows in enumerate(windows):
                    if model and rows:
                        for component, watts in _errors(model, rows, own=i == j).items():
                            key = f"{source}/{output_type}/{component}"
                            errors.setdefault(key, np.full((len(names), len(names)), np.nan))[i, j] = watts
                shown.advance(1)
    if not errors:
        raise UserError(
            f"None of the last {len(names)} versions of {pipeline} at {target.uri} has the rows of its window: publish"
            " with this version of kepler-train first."
        )
    return Ageing(names, errors)


def _rows(target: Target, key: str, folder: Path) -> WindowRows | None:
    """Return the rows that a version was judged by; None where it has none, as versions before they were kept."""
    path = target.store.download(key, folder / "rows")
    try:
        return WindowRows.read(path) if path.is_file() else None
    except UserError as error:
        warn(f"{key} is left out: {error}")
        return None


def _model(target: Target, home: str, source: str, output_type: str, node_type: int, folder: Path) -> Previous | None:
    try:
        path = fetch_best(target.store, home, source, output_type, node_type, folder)
        return read_previous(path) if path else None
    except TryAgain:
        raise
    except KeplerTrainError as error:
        warn(f"{home} is left out: {error}")
        return None


def _errors(model: Previous, rows: WindowRows, *, own: bool) -> dict[str, float]:
    """Return the mean absolute error (W) of each component on rows that a model has not learnt from."""
    if own:
        predicted = {component: rows.blocked(component) for component in rows.components}
        unseen = np.ones(len(rows.frame), dtype=bool)
    else:
        shared = [component for component in rows.components if component in model.model.components]
        predicted = dict(model.watts(rows.frame, shared) or {})
        start, end = model.metadata.window if len(model.metadata.window) == 2 else ("", "")
        times = rows.frame[TIME]
        unseen = ((times < start) | (times > end)).to_numpy() if start else np.zeros(len(times), dtype=bool)
    found = {}
    for component, watts in predicted.items():
        off = np.abs(watts - rows.measured(component))[unseen]
        if np.isfinite(off).any():
            found[component] = float(np.nanmean(off))
    return found

"""Compare what was exported with the best models of the version before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kepler_train.errors import KeplerTrainError
from kepler_train.evaluate.comparison import (
    COMPARISON,
    Champion,
    Compared,
    Comparison,
    compare_on_figures,
    compare_on_rows,
    count_components,
    level_for,
)
from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HELD_OUT, ROWS, HeldOut
from kepler_train.evaluate.window_rows import WindowRows, rows_in
from kepler_train.export.standings import best_models
from kepler_train.model_key import ModelKey, model_name
from kepler_train.models.artifact import read_metadata
from kepler_train.records import read_record
from kepler_train.train.previous import BEST, BEST_VERSION, read_previous


def write_window_rows(
    home: Path, evaluation: Evaluation, trained: Mapping[ModelKey, Path], folds: int, node_type: int
) -> None:
    """Keep the rows of the window with the pipeline, with what the best model of each kind predicted for them."""
    import pandas as pd

    for key in best_models(evaluation):
        if evaluation.models[key].passes:
            features = pd.read_parquet(trained[key] / ROWS)
            WindowRows.of(features, HeldOut.read(trained[key] / HELD_OUT), key, folds).write(home, node_type)


def compare_with_kept(home: Path, plan: Path | None, node_type: int) -> Comparison | None:
    """Compare an exported pipeline with the models that the plan kept; None where it kept none."""
    if plan is None or not (plan / BEST).is_dir():
        return None
    version = plan / BEST_VERSION
    return compare_with(plan / BEST, version.read_text("utf-8") if version.exists() else "", home, node_type)


def compare_with(champions: Path, version: str, home: Path, node_type: int) -> Comparison:
    """Compare the pipeline in `home` with a version, of which `champions` has `<source>/<output type>/<group>/…`."""
    tables = rows_in(home, node_type)
    level = level_for(count_components(tables))
    return Comparison(
        champion=version,
        models={
            f"{rows.model.source}/{rows.model.output_type}": _compare(rows, champions, home, node_type, level)
            for rows in tables
        },
    )


def _compare(rows: WindowRows, champions: Path, home: Path, node_type: int, level: float) -> Compared:
    kept = sorted((champions / rows.model.source / rows.model.output_type).glob(f"*/{model_name('*', node_type)}"))
    if not kept:
        return Compared(unknown="the present version has none of this source and output type")
    try:
        champion = read_previous(min(kept, key=_error))
        watts = champion.watts(rows.frame, [name for name in rows.components if name in champion.model.components])
    except KeplerTrainError as error:
        return Compared(unknown=str(error).rstrip("."))
    if watts is None:
        return Compared(unknown=f"the rows of this window do not have what {champion.model.name} needs")
    compared = compare_on_rows(rows, Champion(champion.metadata, watts), level)
    if compared.unknown:
        ours = read_metadata(home / str(rows.model.family) / model_name(rows.model.trainer, node_type))
        if ours.window and ours.window == champion.metadata.window:
            return compare_on_figures(champion.metadata, ours, level)
    return compared


def _error(model: Path) -> tuple[float, str]:
    mae = read_metadata(model).mae
    return float("inf") if mae is None else mae, model.name


def write_comparison(comparison: Comparison | None, out: Path) -> None:
    """Write a comparison beside the pipeline, for the step that publishes it."""
    if comparison:
        (out / COMPARISON).write_text(json.dumps(comparison.content(), indent=1), encoding="utf-8")


def read_comparison(folder: Path) -> Comparison | None:
    """Return the comparison that the export step left, where it had something to compare with."""
    file = folder / COMPARISON
    return read_record(Comparison, file.read_bytes(), str(file)) if file.exists() else None

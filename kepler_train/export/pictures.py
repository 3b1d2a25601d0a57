"""The pictures of a pipeline: predicted against measured power, and of each table of models errors and power curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.error_map import plot_error_map
from kepler_train.export.plot import plot_held_out
from kepler_train.export.power_curve import plot_power_curves
from kepler_train.export.standings import best_models, ranked_models, tables
from kepler_train.model_key import ModelKey

PLOT = "held_out.png"
_CURVES = 3  # models in one picture


def error_map_name(table: str) -> str:
    """The picture beside `<source>_<output type>_model_metadata.csv`."""
    return f"{table}_model_metadata.png"


def power_curve_name(table: str) -> str:
    """The picture of power against load, by `<source>_<output type>`."""
    return f"{table}_power_curve.png"


def pictured(evaluation: Evaluation) -> list[str]:
    """`<source>_<output type>` of which some model is published, in the order of the evaluation."""
    return list(dict.fromkeys(key.table for key in evaluation.passing))


def draw_pictures(evaluation: Evaluation, held_out: Callable[[ModelKey], HeldOut], home: Path) -> None:
    """Draw all pictures; `held_out` reads the held-out rows of a model."""
    plot_held_out({key: held_out(key) for key in best_models(evaluation)}, home / PLOT)
    every = tables(evaluation)
    for table in pictured(evaluation):
        plot_error_map([one for one in every if one.name == table], home / error_map_name(table))
        best = best_alike(evaluation, table)
        main = evaluation.models[best[0]].training.main_features
        plot_power_curves({key: held_out(key) for key in best}, main, home / power_curve_name(table))


def best_alike(evaluation: Evaluation, table: str) -> list[ModelKey]:
    """The best published models by different trainers for which the same features stand for the load."""
    models = evaluation.models
    published = [key for key in ranked_models(evaluation) if models[key].passes and key.table == table]
    main = models[published[0]].training.main_features
    by_trainer: dict[str, ModelKey] = {}
    for key in published:
        if models[key].training.main_features == main:
            by_trainer.setdefault(key.trainer, key)
    return list(by_trainer.values())[:_CURVES]

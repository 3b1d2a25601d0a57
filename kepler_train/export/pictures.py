"""The pictures of a pipeline: predicted against measured power, and of each table of models errors and power curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.error_map import plot_error_map
from kepler_train.export.plot import plot_held_out
from kepler_train.export.power_curve import plot_power_curves
from kepler_train.export.standings import Evaluation, best_parts, ranked_parts, tables

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
    models = evaluation["models"]
    return list(dict.fromkeys(_table(part) for part in models if models[part]["passes"]))


def draw_pictures(evaluation: Evaluation, held_out: Callable[[str], HeldOut], home: Path) -> None:
    """Draw all pictures; `held_out` reads the held-out rows of a model."""
    plot_held_out({part: held_out(part) for part in best_parts(evaluation)}, home / PLOT)
    every = tables(evaluation)
    for table in pictured(evaluation):
        plot_error_map([one for one in every if one.name == table], home / error_map_name(table))
        best = best_alike(evaluation, table)
        main = evaluation["models"][best[0]]["training"]["main_features"]
        plot_power_curves({part: held_out(part) for part in best}, main, home / power_curve_name(table))


def best_alike(evaluation: Evaluation, table: str) -> list[str]:
    """The best published models by different trainers for which the same features stand for the load."""
    models = evaluation["models"]
    published = [part for part in ranked_parts(evaluation) if models[part]["passes"] and _table(part) == table]
    main = models[published[0]]["training"]["main_features"]
    by_trainer: dict[str, str] = {}
    for part in published:
        if models[part]["training"]["main_features"] == main:
            by_trainer.setdefault(part.split("/")[3], part)
    return list(by_trainer.values())[:_CURVES]


def _table(part: str) -> str:
    return "_".join(part.split("/")[:2])

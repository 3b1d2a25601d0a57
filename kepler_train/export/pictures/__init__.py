"""Pictures, one module each. Those of the report are named and drawn here, and shown by `templates/report.md`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.pictures.error_map import draw_error_map
from kepler_train.export.pictures.held_out import draw_held_out
from kepler_train.export.pictures.power_curve import draw_power_curves
from kepler_train.export.standings import best_models, ranked_models, tables
from kepler_train.model_key import ModelKey

PLOT = "held_out.png"
_CURVES = 3  # models in one picture


class TablePictures(NamedTuple):
    """File names of the pictures of one table of models, `<source>_<output type>`."""

    table: str

    @property
    def error_map(self) -> str:
        """Return the name of the picture beside `<source>_<output type>_model_metadata.csv`."""
        return f"{self.table}_model_metadata.png"

    @property
    def power_curve(self) -> str:
        """Return the name of the picture of power against load."""
        return f"{self.table}_power_curve.png"


def pictured(evaluation: Evaluation) -> list[TablePictures]:
    """Return the pictures of every table with a published model, in the order of the evaluation."""
    return [TablePictures(name) for name in dict.fromkeys(key.table for key in evaluation.passing)]


def draw_pictures(evaluation: Evaluation, held_out: Callable[[ModelKey], HeldOut], home: Path) -> None:
    """Draw all pictures of the report; `held_out` reads the held-out rows of a model."""
    draw_held_out({key: held_out(key) for key in best_models(evaluation)}, home / PLOT)
    standings = tables(evaluation)
    for pictures in pictured(evaluation):
        components = [standing for standing in standings if standing.name == pictures.table]
        draw_error_map(components, home / pictures.error_map)
        best = best_alike(evaluation, pictures.table)
        main = evaluation.models[best[0]].training.main_features
        draw_power_curves({key: held_out(key) for key in best}, main, home / pictures.power_curve)


def best_alike(evaluation: Evaluation, table: str) -> list[ModelKey]:
    """Return the best published models by different trainers for which the same features stand for the load."""
    models = evaluation.models
    published = [key for key in ranked_models(evaluation) if models[key].passes and key.table == table]
    main = models[published[0]].training.main_features
    by_trainer: dict[str, ModelKey] = {}
    for key in published:
        if models[key].training.main_features == main:
            by_trainer.setdefault(key.trainer, key)
    return list(by_trainer.values())[:_CURVES]

"""Pictures, one module each. Those of the report are named and drawn here, and shown by `templates/report.md`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kepler_train.evaluate.judged import HeldOut
from kepler_train.export.pictures.error_map import draw_error_map
from kepler_train.export.pictures.held_out import draw_held_out
from kepler_train.export.pictures.power_curve import draw_power_curves
from kepler_train.export.standings import Evaluation, best_parts, ranked_parts, tables

PLOT = "held_out.png"
_CURVES = 3  # models in one picture


class TablePictures(NamedTuple):
    """File names of the pictures of one table of models, `<source>_<output type>`."""

    table: str

    @property
    def error_map(self) -> str:
        """The picture beside `<source>_<output type>_model_metadata.csv`."""
        return f"{self.table}_model_metadata.png"

    @property
    def power_curve(self) -> str:
        """The picture of power against load."""
        return f"{self.table}_power_curve.png"


def pictured(evaluation: Evaluation) -> list[TablePictures]:
    """Return the pictures of every table with a published model, in the order of the evaluation."""
    models = evaluation["models"]
    return [TablePictures(name) for name in dict.fromkeys(_table(part) for part in models if models[part]["passes"])]


def draw_pictures(evaluation: Evaluation, held_out: Callable[[str], HeldOut], home: Path) -> None:
    """Draw all pictures of the report; `held_out` reads the held-out rows of a model."""
    draw_held_out({part: held_out(part) for part in best_parts(evaluation)}, home / PLOT)
    standings = tables(evaluation)
    for pictures in pictured(evaluation):
        components = [standing for standing in standings if standing.name == pictures.table]
        draw_error_map(components, home / pictures.error_map)
        best = best_alike(evaluation, pictures.table)
        main = evaluation["models"][best[0]]["training"]["main_features"]
        draw_power_curves({part: held_out(part) for part in best}, main, home / pictures.power_curve)


def best_alike(evaluation: Evaluation, table: str) -> list[str]:
    """Return the best published models by different trainers for which the same features stand for the load."""
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

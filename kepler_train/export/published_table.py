"""The table of a pipeline's published models, the best first: read with suspicion, as its names become paths."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from typing import NamedTuple

from kepler_train.errors import UserError
from kepler_train.strict_json import name_problem, shown


class PublishedModel(NamedTuple):
    """A model, its feature group, and the errors (W, %) of its worst component in blocks of time."""

    name: str
    group: str
    mae: float
    mape: float | None


def read_table(content: bytes | None, where: object) -> list[PublishedModel]:
    """Return the models of a table, none where there is no table; refuse anything else in one sentence."""
    try:
        return [_model(row) for row in csv.DictReader((content or b"").decode("utf-8").splitlines())]
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise UserError(f"{where} is not a table of published models: {error}.") from None


def folder_name(text: str) -> str:
    """Return a text that names one folder; raise ValueError for one that leads elsewhere."""
    if problem := name_problem(text):
        raise ValueError(problem)
    if "/" in text or text in (".", ".."):
        raise ValueError(f"{shown(text)} is not the name of a folder")
    return text


def _model(row: Mapping[str, str]) -> PublishedModel:
    mae, mape = float(row["mae"]), float(row["mape"]) if row["mape"] else None
    if not math.isfinite(mae) or not math.isfinite(mape or 0.0):
        raise ValueError("an error is not a number")
    return PublishedModel(folder_name(row["model_name"]), folder_name(row["feature_group"]), mae, mape)

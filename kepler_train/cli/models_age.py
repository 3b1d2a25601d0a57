"""`kepler-train models age`: the error of the version of each window on the rows of the others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from kepler_train.cli.files import data_path, whole_file
from kepler_train.cli.model_options import AnswerFormat, Format, Pipeline, Place, open_models
from kepler_train.errors import UserError
from kepler_train.events import say

_PICTURES = (".png", ".svg", ".pdf")


def age(
    pipeline: Pipeline,
    target: Place = "",
    last: Annotated[int, typer.Option("--last", help="How many versions, the newest.", min=2, max=100)] = 8,
    node_type: Annotated[int, typer.Option(help="Node type of the models.", min=0)] = 0,
    output: Annotated[str, typer.Option("-o", "--output", help="Picture to draw: .png, .svg or .pdf.")] = "",
    form: AnswerFormat = Format.TABLE,
) -> None:
    """Show whether models age: the error of each of the last versions on the rows of the others' windows."""
    from kepler_train.cli.answers import print_json, print_table
    from kepler_train.publish.age import ageing

    picture = _picture(output) if output else None
    place = open_models(target)
    found = ageing(place, pipeline, last, node_type)
    windows = [_window(version) for version in found.versions]
    if form is Format.JSON:
        errors = {
            name: [[None if math.isnan(watts) else float(watts) for watts in row] for row in table]
            for name, table in found.errors.items()
        }
        print_json({"target": place.uri, "pipeline": pipeline, "versions": found.versions, "mae": errors})
    else:
        for name, table in found.errors.items():
            say(f"{name}: mean absolute error (W)")
            rows = [
                [window, *("–" if math.isnan(watts) else f"{watts:.2f}" for watts in row)]
                for window, row in zip(windows, table, strict=True)
            ]
            print_table(["trained until, on rows until", *windows], rows)
    if picture:
        from kepler_train.export.pictures.ageing import draw_ageing

        with whole_file(picture) as file:
            draw_ageing(windows, found.errors, file)
        say(f"Wrote {picture}.")


def _picture(output: str) -> Path:
    place = data_path(output)
    place = place if place.suffix else place.with_name(f"{place.name}.png")
    if place.suffix not in _PICTURES:
        raise UserError(f"--output {output!r} cannot be drawn: choose a name that ends in {', '.join(_PICTURES)}.")
    return place


def _window(version: str) -> str:
    """Return the end of a version's window, as its name has it, to the minute (UTC)."""
    stamp = version.partition("-")[0]
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}"

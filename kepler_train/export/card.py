"""The card of a model: what it is, what it was made of, how wrong it is and where it must not be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from kepler_train import __version__
from kepler_train.arrays import Positions
from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.judged import Coded, HeldOut
from kepler_train.evaluate.protocols import FORWARD, Protocol
from kepler_train.export.standings import of_component
from kepler_train.models.hull import Hull
from kepler_train.models.metadata import ErrorFigures, ModelMetadata, TrivialFigures

CARD, PICTURE = "model_card.md", "held_out.svg"
_POINTS = 800  # of a component: more hide what they show
_SIDE = 300  # of a panel


def write_card(folder: Path, metadata: ModelMetadata, held_out: HeldOut) -> None:
    """Write the card of a model, with a picture of its held-out rows, from its complete metadata."""
    protocols = [protocol for protocol in Protocol if protocol in metadata.figures]
    farthest = Protocol.WORKLOAD if Protocol.WORKLOAD in protocols else Protocol.BLOCKED
    content = _environment().get_template(CARD).render(
        about=metadata,
        figures=metadata.figures,
        lines=list(_lines(metadata)),
        protocols=protocols,
        farthest=farthest,
        ranges=ranges(metadata.hull),
        forward=round(100 * (1 - FORWARD)),
        files=sorted(file.name for file in folder.iterdir()),
        picture=PICTURE,
        version=__version__,
    )  # fmt: skip
    (folder / CARD).write_text(content, encoding="utf-8")
    (folder / PICTURE).write_text(picture(held_out, farthest), encoding="utf-8")


def _lines(metadata: ModelMetadata) -> Iterator[tuple[str, Mapping[str, ErrorFigures] | Mapping[str, TrivialFigures]]]:
    """Yield every component with its figures by protocol, and after it its trivial models in italics."""
    for component in metadata.figures[Protocol.BLOCKED]:
        yield component, of_component(component, metadata.figures)
        for name, figures in metadata.trivial.items():
            yield f"*{component}: {title(name, metadata, [component])}*", of_component(component, figures)


def ranges(hulls: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest value (1/s) of each feature among the training rows."""
    limits = {}
    for hull in map(Hull.read, hulls.values()):
        for number, feature in enumerate(hull.features):
            limits[feature] = (hull.low[number] * hull.scale[number], hull.high[number] * hull.scale[number])
    return limits


def picture(held_out: HeldOut, protocol: Protocol) -> str:
    """Return predicted against measured power as SVG, a panel per component, coloured by workload.

    Not by matplotlib, which takes half a second for each of some two hundred models of a run.
    """
    measured, predicted = held_out.columns["measured"], held_out.columns["predicted"]
    pieces = [piece for piece in held_out.pieces if piece.protocol == protocol]
    shown = np.unique(np.concatenate([held_out.workload.codes[piece.rows] for piece in pieces]))
    workloads = sorted(held_out.workload.names[code] for code in shown)
    panels = []
    for _, component, rows in pieces:
        top = 1.05 * float(max(measured[rows].max(), predicted[rows].max())) or 1.0
        some = rows[:: -(-len(rows) // _POINTS)]
        across, up = (np.rint(watts[some] / top * _SIDE).astype(int) for watts in (measured, predicted))
        paths = list(_paths(across, _SIDE - up, held_out.workload.take(some)))
        panels.append({"component": component, "top": top, "paths": paths})
    colours = {name: f"hsl({360 * number // len(workloads)} 65% 45%)" for number, name in enumerate(workloads)}
    return _environment().get_template(PICTURE).render(panels=panels, colours=colours, side=_SIDE, protocol=protocol)


def _paths(across: Positions, down: Positions, workloads: Coded) -> Iterator[tuple[str, str]]:
    """Yield the path of each workload: a dot for every row, as a step of no length."""
    for code, name in sorted(enumerate(workloads.names), key=lambda pair: pair[1]):
        rows = workloads.codes == code
        dots = zip(across[rows].tolist(), down[rows].tolist(), strict=True)
        yield name, "".join([f"M{x} {y}h0" for x, y in dots])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kepler_train.export"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(["svg"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": _figure, "error": _error, "energy": _energy}
    return environment


def _figure(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:z,.{digits}f}"  # z: no -0.00


def _error(figures: ErrorFigures | TrivialFigures) -> str:
    """Return the mean error (W), and its share of measured power where there is one."""
    share = "" if figures.mape is None else f" ({_figure(figures.mape, 1)} %)"
    return f"{_figure(figures.mae)}{share}"


def _energy(figures: ErrorFigures | TrivialFigures) -> str:
    """Return the workload whose energy is farthest off, and by how much."""
    off = figures.energy_error
    if off is None:
        return "–"
    size = _figure(abs(off), 1)
    way = "" if float(size.replace(",", "")) == 0 else " too high" if off > 0 else " too low"
    return f"{figures.energy_worst_workload}: {size} %{way}"
